// The command line: subcommands, options, help, completion.
#ifndef WARPSMITH_TOOLS_COMMAND_LINE_H_
#define WARPSMITH_TOOLS_COMMAND_LINE_H_

namespace warpsmith::cli {

// Parses, runs, prints errors (one line on stderr; with --json a document on stdout), and returns
// the exit status.
int Main(int argc, char** argv);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_COMMAND_LINE_H_
