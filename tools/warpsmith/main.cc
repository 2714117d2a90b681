#include "commands.h"

int main(int argc, char** argv) { return warpsmith::cli::Main(argc, argv); }
