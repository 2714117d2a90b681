"""python3 -m warpsmith_peer [--host-memory] SOCKET"""
import sys

from warpsmith_peer.peer import main

sys.exit(main(sys.argv[1:]))
