// Not what is compiled where a shell reads this file's name.
#error "no shell has looked"
