// Subcommands of `hgemm` about the catalogue and the library that is built from it.
#ifndef WARPSMITH_TOOLS_DISPATCH_COMMANDS_H_
#define WARPSMITH_TOOLS_DISPATCH_COMMANDS_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "options.h"

namespace warpsmith::cli {

struct CatalogueMakeOptions {
  CommonOptions common;
  std::string store;   // the database; empty: the user's
  std::string run;     // only runs of this tuning; empty: all
  std::string output;  // the catalogue; "-": stdout
};

struct CatalogueMergeOptions {
  CommonOptions common;
  std::vector<std::string> files;
  std::string output;
};

struct CatalogueCheckOptions {
  CommonOptions common;
  std::vector<std::string> files;
};

struct CatalogueGuardOptions {
  CommonOptions common;
  std::string catalogue, output;
  std::vector<std::string> bench;  // comparisons of its kernels; empty: what its rows hold
  bool strict = false;             // what was not compared is cuBLASLt's
};

struct CataloguePageOptions {
  CommonOptions common;
  std::string catalogue, html;
  std::vector<std::string> bench;  // comparisons, whose ratios stand for the catalogue's
};

struct BuildOptions {
  CommonOptions common;
  std::string catalogue, output;
  std::string architecture = "sm_90a";
  std::string device;   // rows measured on it only; empty: of each shape the surest
  bool strict = false;  // leave out kernels whose sources are no longer those that were measured
};

struct HgemmAuditOptions {
  CommonOptions common;
  DeviceOptions device;
  PaceOptions pace;
  std::string catalogue, csv;
};

Result<int> RunCatalogueMake(const CatalogueMakeOptions& options);
Result<int> RunCatalogueMerge(const CatalogueMergeOptions& options);
Result<int> RunCatalogueCheck(const CatalogueCheckOptions& options);
Result<int> RunCatalogueGuard(const CatalogueGuardOptions& options);
Result<int> RunCataloguePage(const CataloguePageOptions& options);
Result<int> RunHgemmBuild(const BuildOptions& options);
Result<int> RunHgemmAudit(const HgemmAuditOptions& options);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_DISPATCH_COMMANDS_H_
