#include "store/canonical_dump.h"

namespace warpsmith::store {
namespace {

// What each table says, ids replaced by what they stand for.
struct TableQuery {
  const char* table;
  int columns;
  const char* sql;
};

constexpr TableQuery kQueries[] = {
    {"device", 2, "SELECT uuid, info FROM device ORDER BY info"},
    {"toolchain", 1, "SELECT name FROM toolchain ORDER BY name"},
    {"task", 3, "SELECT content_id, name, body FROM task ORDER BY body"},
    {"workload", 2, "SELECT name, body FROM workload ORDER BY body"},
    {"protocol", 2, "SELECT level, body FROM protocol ORDER BY body"},
    {"source", 2, "SELECT sha256, hex(text) FROM source ORDER BY sha256"},
    {"candidate", 3, "SELECT id, code_bytes, body FROM candidate ORDER BY id"},
    {"candidate_source", 3,
     "SELECT candidate, path, source FROM candidate_source ORDER BY candidate, path"},
    {"artifact", 4,
     "SELECT candidate, name, architecture, sha256 FROM artifact "
     "JOIN toolchain ON toolchain.id = toolchain ORDER BY 1, 2, 3, 4"},
    {"verdict", 8,
     "SELECT key, candidate, uuid, outcome, conclusive, verdict.body, digest, origin FROM verdict "
     "JOIN device ON device.id = device ORDER BY key, digest"},
    {"measurement", 10,
     "SELECT key, workload_index, mode_index, contender_index, mode, contender, median_us, lo_us, "
     "hi_us, hex(samples) FROM measurement JOIN verdict ON verdict.id = verdict "
     "ORDER BY key, digest, workload_index, mode_index, contender_index"},
    {"run", 9,
     "SELECT run.id, task.body, workload.body, protocol.body, device.info, proposer, seed, batch, "
     "space FROM run JOIN task ON task.id = task JOIN workload ON workload.id = workload "
     "JOIN protocol ON protocol.id = protocol JOIN device ON device.id = device ORDER BY run.id"},
    // A leased job is work in flight, not a fact.
    {"job", 3, "SELECT run, step_index, key FROM job WHERE state = 'done' ORDER BY 1, 2"},
    {"step", 11,
     "SELECT run, step_index, step.candidate, key, digest, provenance, terms, reward, evaluations, "
     "step.gpu_seconds, tokens FROM step JOIN verdict ON verdict.id = verdict ORDER BY 1, 2"},
    {"memo", 3, "SELECT run, key, hex(text) FROM memo ORDER BY run, key"},
};

Status DumpTable(Connection& connection, const TableQuery& query, std::string& dump) {
  Statement rows = connection.Prepare(query.sql);
  while (TRY(rows.Next())) {
    dump += query.table;
    for (int column = 0; column < query.columns; ++column) {
      dump += '\t';
      dump += rows.IsNull(column) ? std::string("NULL") : rows.Text(column);
    }
    dump += '\n';
  }
  return {};
}

}  // namespace

Result<std::string> CanonicalDump(DatabaseStore& store) {
  std::string dump;
  for (const TableQuery& query : kQueries) TRY(DumpTable(store.connection(), query, dump));
  return dump;
}

}  // namespace warpsmith::store
