// What an option's text must look like, said before anything runs. Each check answers with what is
// wrong, or with nothing.
#ifndef WARPSMITH_TOOLS_ARGUMENT_CHECKS_H_
#define WARPSMITH_TOOLS_ARGUMENT_CHECKS_H_

#include <string>
#include <string_view>

namespace warpsmith::cli {

// A finite number from 0.
std::string CheckSeconds(const std::string& text);
// Digits only: option parsers take "-1" for a large unsigned number.
std::string CheckWholeNumber(const std::string& text);
// regression, incorrect or never, separated by commas.
std::string CheckFailOn(const std::string& text);
// A file that could be written: its folder exists. Said now, not after the search.
std::string CheckOutputFile(const std::string& path);

// Whether an argument asks for JSON: known even where the command line cannot be parsed.
bool AsksForJson(int argc, const char* const* argv);
// Our documents and the store hold UTF-8. Empty when all arguments are.
std::string CheckIsUtf8(int argc, const char* const* argv);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_ARGUMENT_CHECKS_H_
