#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/display_text.h"
#include "command_tree.h"
#include "commands.h"
#include "search/machine/machine.h"
#include "store/database.h"
#include "store/store_check.h"

namespace warpsmith::cli {

using nlohmann::json;

Result<int> RunStoreCheck(const StoreOptions& options) {
  const std::string where = search::StorePath(options.store);
  const std::string path = store::ShownDatabase(where);
  const std::vector<std::string> damage = TRY(store::FindDamage(where));
  if (options.common.json) {
    PrintDocument("store-check", {{"store", path}, {"sound", damage.empty()}, {"damage", damage}});
  } else if (damage.empty()) {
    std::printf("%s: sound\n", path.c_str());
  } else {
    for (const std::string& line : damage) std::printf("%s\n", LinesForTerminal(line).c_str());
    std::printf("%s: damaged; 'warpsmith store repair' makes a new store of what is sound\n",
                path.c_str());
  }
  return damage.empty() ? 0 : 1;
}

Result<int> RunStoreRepair(const StoreOptions& options) {
  const std::string path = search::StorePath(options.store);
  const std::vector<store::KeptRows> tables = TRY(store::Repair(path, options.output));
  json rows = json::object();
  bool whole = true;
  for (const store::KeptRows& table : tables) {
    rows[table.table] = {{"found", table.found}, {"kept", table.kept}};
    whole = whole && table.found == table.kept;
  }
  if (options.common.json) {
    PrintDocument("store-repair", {{"store", path}, {"output", options.output}, {"rows", rows}});
    return whole ? 0 : 1;
  }
  for (const store::KeptRows& table : tables) {
    std::printf("%-16s  %lld of %lld rows\n", table.table.c_str(),
                static_cast<long long>(table.kept), static_cast<long long>(table.found));
  }
  std::printf("%s: what is sound in %s, which is as it was\n", options.output.c_str(),
              path.c_str());
  return whole ? 0 : 1;
}

void AddStore(CLI::App& app, SelectedCommand& chosen) {
  CLI::App* store = app.add_subcommand("store", "is the results database sound; save what is");
  store->require_subcommand(1);
  CLI::App* check =
      store->add_subcommand("check", "every page, digest and reference; exit status 1 for damage");
  auto check_options = std::make_shared<StoreOptions>();
  check->add_option("store", check_options->store, "results database; default: yours");
  Choose(check, chosen, check_options, RunStoreCheck);
  CLI::App* repair = store->add_subcommand("repair", "a new store of what is sound in one");
  auto repair_options = std::make_shared<StoreOptions>();
  repair->add_option("store", repair_options->store, "results database; default: yours");
  repair->add_option("-o,--output", repair_options->output, "the new store")->required();
  Choose(repair, chosen, repair_options, RunStoreRepair);
}

}  // namespace warpsmith::cli
