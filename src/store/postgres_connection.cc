// PostgreSQL behind Connection, by libpq, which is opened at run time: the program starts where it
// is not installed.
//
// One writing transaction runs at a time, as in SQLite: it holds an advisory lock of the database.
// So nothing is written twice, and no transaction has to be tried again. A connection that was lost
// fails what is under way and is made anew for what comes next.
#include "store/connection.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "base/display_text.h"

namespace warpsmith::store {
namespace {

// The server ends a transaction whose process says nothing for so long (its machine lost power), and
// a lock is waited for longer: one that is lost does not end the others.
constexpr int kMostSilenceMs = 60'000, kLockPatienceMs = 90'000;

// libpq's interface as far as it is used: its symbols and numbers are fixed since PostgreSQL 12.
struct ServerLink;    // PGconn
struct ServerAnswer;  // PGresult
enum AnswerKind { kEmptyQuery = 0, kCommandDone = 1, kRowsCame = 2 };
constexpr int kLinkIsUp = 0;    // CONNECTION_OK
constexpr int kSqlState = 'C';  // PG_DIAG_SQLSTATE
constexpr int kMessage = 'M';   // PG_DIAG_MESSAGE_PRIMARY
constexpr int kBinary = 1;      // format of values
using Oid = unsigned int;
constexpr Oid kBool = 16, kBytea = 17, kInt8 = 20, kInt2 = 21, kInt4 = 23, kText = 25,
              kFloat8 = 701, kInferred = 0;

struct Libpq {
  void* (*PQconninfoParse)(const char*, char**);
  void (*PQconninfoFree)(void*);
  void (*PQfreemem)(void*);
  ServerLink* (*PQconnectdbParams)(const char* const*, const char* const*, int);
  void (*PQfinish)(ServerLink*);
  void (*PQreset)(ServerLink*);
  int (*PQstatus)(const ServerLink*);
  char* (*PQerrorMessage)(const ServerLink*);
  int (*PQserverVersion)(const ServerLink*);
  ServerAnswer* (*PQexec)(ServerLink*, const char*);
  ServerAnswer* (*PQprepare)(ServerLink*, const char*, const char*, int, const Oid*);
  ServerAnswer* (*PQexecPrepared)(ServerLink*, const char*, int, const char* const*, const int*,
                                  const int*, int);
  int (*PQresultStatus)(const ServerAnswer*);
  char* (*PQresultErrorField)(const ServerAnswer*, int);
  char* (*PQcmdStatus)(ServerAnswer*);
  int (*PQntuples)(const ServerAnswer*);
  int (*PQnfields)(const ServerAnswer*);
  Oid (*PQftype)(const ServerAnswer*, int);
  char* (*PQgetvalue)(const ServerAnswer*, int, int);
  int (*PQgetlength)(const ServerAnswer*, int, int);
  int (*PQgetisnull)(const ServerAnswer*, int, int);
  void (*PQclear)(ServerAnswer*);
};

template <typename F>
void LoadFunction(void* library, const char* name, F* function, std::string* missing) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  if (*function == nullptr) *missing = name;
}

Result<Libpq> LoadLibpq() {
  const Error unavailable{ErrorCode::kUnavailable,
                          "opening libpq, which speaks with PostgreSQL servers: ",
                          "install it (Debian and Ubuntu: apt-get install libpq5), or name a file "
                          "with --store"};
  void* library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return Error{unavailable.code, unavailable.message + (reason == nullptr ? "" : reason),
                 unavailable.fix};
  }
  Libpq libpq{};
  std::string missing;
#define LOAD(name) LoadFunction(library, #name, &libpq.name, &missing)
  LOAD(PQconninfoParse);
  LOAD(PQconninfoFree);
  LOAD(PQfreemem);
  LOAD(PQconnectdbParams);
  LOAD(PQfinish);
  LOAD(PQreset);
  LOAD(PQstatus);
  LOAD(PQerrorMessage);
  LOAD(PQserverVersion);
  LOAD(PQexec);
  LOAD(PQprepare);
  LOAD(PQexecPrepared);
  LOAD(PQresultStatus);
  LOAD(PQresultErrorField);
  LOAD(PQcmdStatus);
  LOAD(PQntuples);
  LOAD(PQnfields);
  LOAD(PQftype);
  LOAD(PQgetvalue);
  LOAD(PQgetlength);
  LOAD(PQgetisnull);
  LOAD(PQclear);
#undef LOAD
  if (missing.empty()) return libpq;
  return Error{unavailable.code, unavailable.message + "it has no " + missing, unavailable.fix};
}

Result<const Libpq*> TheLibpq() {
  static const Result<Libpq> libpq = LoadLibpq();
  if (!libpq.ok()) return libpq.error();
  return &*libpq;
}

// By the class of an SQLSTATE (PostgreSQL's manual, appendix A).
ErrorCode CodeOfState(std::string_view state) {
  const std::string_view kind = state.substr(0, 2);
  if (state == "42501") return ErrorCode::kPermission;
  if (state == "55P03" || kind == "40") return ErrorCode::kBusy;
  if (kind == "08" || kind == "25" || kind == "53" || kind == "57" || kind == "58") {
    return ErrorCode::kIo;
  }
  if (kind == "22" || kind == "23" || kind == "42" || kind == "P0" || kind == "XX") {
    return ErrorCode::kBadInput;
  }
  return ErrorCode::kInternal;
}

std::string_view FixForState(ErrorCode code) {
  switch (code) {
    case ErrorCode::kPermission:
      return "ask who runs the server for rights on the store's schema";
    case ErrorCode::kBusy:
      return "another process is writing to it; try again";
    case ErrorCode::kIo:
      return "look at the server; what was stored before is unharmed";
    case ErrorCode::kBadInput:
      return "it is damaged or not warpsmith's; 'warpsmith store check' says more, or name another "
             "database";
    default:
      return "please report this";
  }
}

// ? and ?1 as $1; a text in quotes is left alone.
std::string WithNumberedPlaces(std::string_view sql) {
  std::string numbered;
  int place = 0;
  bool quoted = false;
  for (size_t i = 0; i < sql.size(); ++i) {
    if (sql[i] == '\'') quoted = !quoted;
    if (sql[i] != '?' || quoted) {
      numbered += sql[i];
      continue;
    }
    numbered += '$';
    const bool has_number = i + 1 < sql.size() && sql[i + 1] >= '0' && sql[i + 1] <= '9';
    if (!has_number) numbered += std::to_string(++place);
  }
  return numbered;
}

template <typename T>
std::string BigEndian(T value) {
  std::string bytes(reinterpret_cast<const char*>(&value), sizeof(value));
  return {bytes.rbegin(), bytes.rend()};
}

template <typename T>
T FromBigEndian(std::string_view bytes) {
  const std::string turned(bytes.rbegin(), bytes.rend());
  T value{};
  std::memcpy(&value, turned.data(), std::min(sizeof(value), turned.size()));
  return value;
}

static_assert(std::endian::native == std::endian::little, "numbers are turned for the server");

class PostgresConnection : public Connection {
 public:
  PostgresConnection(const Libpq& libpq, const std::string& address, PostgresOptions options)
      : Connection(WithoutPassword(address)), libpq_(libpq), options_(std::move(options)) {
    // The address is last: what it says comes before what stands here.
    const std::array<const char*, 6> names = {"connect_timeout", "tcp_user_timeout",
                                              "client_encoding", "fallback_application_name",
                                              "dbname",          nullptr};
    const std::array<const char*, 6> values = {"10",        "30000",         "UTF8",
                                               "warpsmith", address.c_str(), nullptr};
    link_ = libpq_.PQconnectdbParams(names.data(), values.data(), 1);
  }
  ~PostgresConnection() override {
    ForgetStatements();
    libpq_.PQfinish(link_);
  }

  // What a connection needs before it is used.
  Status Configure() {
    if (!IsUp()) return CannotConnect();
    constexpr int kOldest = 120000;
    if (const int version = libpq_.PQserverVersion(link_); version < kOldest) {
      return Error{
          ErrorCode::kVersion,
          name() + " is PostgreSQL " + std::to_string(version / 10000) + "; 12 or newer is needed",
          "use a newer server"};
    }
    ++times_made_;
    return Send("SET search_path = " + options_.schema +
                "; SET client_min_messages = error; SET extra_float_digits = 1; "
                "SET idle_in_transaction_session_timeout = " +
                std::to_string(kMostSilenceMs) +
                "; SET lock_timeout = " + std::to_string(kLockPatienceMs) +
                (options_.waits_for_disk ? "" : "; SET synchronous_commit = off"));
  }

  Status Execute(const std::string& script) override {
    TRY(MakeAnewIfLost());
    return Send(script);
  }
  Status Begin(bool writes) override {
    TRY(MakeAnewIfLost());
    const std::string begin =
        writes ? "BEGIN; SELECT pg_advisory_xact_lock(" + std::to_string(options_.write_lock) + ")"
               : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    Status begun = Send(begin);
    if (!begun.ok() && !IsUp()) {  // the server was restarted, say; nothing is under way yet
      TRY(MakeAnewIfLost());
      begun = Send(begin);
    }
    if (!begun.ok()) RollBack();
    in_transaction_ = begun.ok();
    return begun;
  }
  // A server answers ROLLBACK to the COMMIT of a transaction in which something failed.
  Status Commit() override {
    ServerAnswer* answer = libpq_.PQexec(link_, "COMMIT");
    const bool committed =
        answer != nullptr && std::string_view(libpq_.PQcmdStatus(answer)) == "COMMIT";
    if (!committed) return Take(answer, true);
    libpq_.PQclear(answer);
    in_transaction_ = false;
    return {};
  }
  void RollBack() override {
    if (IsUp()) (void)Send("ROLLBACK");
    in_transaction_ = false;
  }
  bool is_file() const override { return false; }

  // For the statements. They are prepared anew on a new connection.
  const Libpq& libpq() const { return libpq_; }
  ServerLink* link() { return link_; }
  int times_made() const { return times_made_; }
  // Nothing goes on by itself inside a transaction: what it did before is lost with the connection.
  Status MakeAnewIfLost() {
    if (IsUp() || in_transaction_) return {};
    libpq_.PQreset(link_);
    return Configure();
  }
  // The error that an answer is, which is cleared; none if it is as it should be.
  Status Take(ServerAnswer* answer, bool is_wrong = false) {
    const int kind = answer == nullptr ? -1 : libpq_.PQresultStatus(answer);
    if (!is_wrong && kind >= kEmptyQuery && kind <= kRowsCame) {
      libpq_.PQclear(answer);
      return {};
    }
    const auto field = [&](int which) {
      const char* text = answer == nullptr ? nullptr : libpq_.PQresultErrorField(answer, which);
      return std::string(text == nullptr ? "" : text);
    };
    const std::string state = field(kSqlState), message = field(kMessage);
    libpq_.PQclear(answer);
    if (!IsUp()) {
      return Error{ErrorCode::kIo,
                   "the connection to store " + name() +
                       " was lost: " + (message.empty() ? Said() : message),
                   "when the server is back, go on where you were: what was stored is unharmed"};
    }
    const ErrorCode code = CodeOfState(state);
    return Error{code,
                 "cannot use store " + name() + ": " + (message.empty() ? Said() : message) +
                     " (SQLSTATE " + state + ")",
                 std::string(FixForState(code))};
  }

 private:
  bool IsUp() const { return link_ != nullptr && libpq_.PQstatus(link_) == kLinkIsUp; }
  // libpq's last words, in one line.
  std::string Said() const {
    std::string words = LinesForTerminal(libpq_.PQerrorMessage(link_));
    for (char& c : words) c = c == '\n' ? ' ' : c;
    while (words.ends_with(' ')) words.pop_back();
    return words;
  }
  Error CannotConnect() const {
    return {ErrorCode::kUnavailable, "cannot open store " + name() + ": " + Said(),
            "look at the address, the server and the password ($PGPASSWORD, ~/.pgpass)"};
  }
  Status Send(const std::string& script) { return Take(libpq_.PQexec(link_, script.c_str())); }
  std::unique_ptr<PreparedStatement> MakeStatement(const char* sql) override;

  const Libpq& libpq_;
  const PostgresOptions options_;
  ServerLink* link_ = nullptr;
  int times_made_ = 0;
  int statements_made_ = 0;
  bool in_transaction_ = false;
};

// All rows come at once; values are in PostgreSQL's binary format, numbers big endian.
class PostgresStatement : public PreparedStatement {
 public:
  PostgresStatement(PostgresConnection& connection, std::string sql, std::string name)
      : connection_(connection), sql_(std::move(sql)), name_(std::move(name)) {}
  PostgresStatement(const PostgresStatement&) = delete;
  PostgresStatement& operator=(const PostgresStatement&) = delete;
  ~PostgresStatement() override { Clear(); }

  void Bind(int place, const Value& value) override {
    const auto at = static_cast<size_t>(place);
    if (values_.size() < at) values_.resize(at);
    values_[at - 1] = std::visit([](const auto& bound) { return As(bound); }, value);
  }
  Result<bool> Next() override {
    if (answer_ == nullptr) TRY(Send());
    return ++row_ < connection_.libpq().PQntuples(answer_);
  }
  int Columns() const override {
    return answer_ == nullptr ? 0 : connection_.libpq().PQnfields(answer_);
  }
  Value Column(int column) const override {
    const Libpq& libpq = connection_.libpq();
    if (libpq.PQgetisnull(answer_, row_, column) != 0) return std::monostate();
    const std::string_view bytes(libpq.PQgetvalue(answer_, row_, column),
                                 static_cast<size_t>(libpq.PQgetlength(answer_, row_, column)));
    switch (libpq.PQftype(answer_, column)) {
      case kBool:
        return int64_t{bytes == std::string_view("\1", 1)};
      case kInt2:
        return int64_t{FromBigEndian<int16_t>(bytes)};
      case kInt4:
        return int64_t{FromBigEndian<int32_t>(bytes)};
      case kInt8:
        return FromBigEndian<int64_t>(bytes);
      case kFloat8:
        return FromBigEndian<double>(bytes);
      case kBytea:
        return Blob{bytes};
      default:
        return bytes;
    }
  }
  void Reset() override {
    Clear();
    values_.clear();
  }

 private:
  struct Bound {
    Oid type = kInferred;
    bool is_null = true;
    std::string bytes;
  };
  static Bound As(std::monostate) { return {}; }
  static Bound As(int64_t value) { return {kInt8, false, BigEndian(value)}; }
  static Bound As(double value) { return {kFloat8, false, BigEndian(value)}; }
  static Bound As(std::string_view text) { return {kText, false, std::string(text)}; }
  static Bound As(const Blob& blob) { return {kBytea, false, std::string(blob.bytes)}; }

  Status Send() {
    TRY(connection_.MakeAnewIfLost());
    const Libpq& libpq = connection_.libpq();
    const int count = static_cast<int>(values_.size());
    if (prepared_on_ != connection_.times_made()) {
      std::vector<Oid> types;
      for (const Bound& value : values_) types.push_back(value.type);
      TRY(connection_.Take(
          libpq.PQprepare(connection_.link(), name_.c_str(), sql_.c_str(), count, types.data())));
      prepared_on_ = connection_.times_made();
    }
    std::vector<const char*> data;
    std::vector<int> lengths;
    const std::vector<int> formats(values_.size(), kBinary);
    for (const Bound& value : values_) {
      data.push_back(value.is_null ? nullptr : value.bytes.data());
      lengths.push_back(static_cast<int>(value.bytes.size()));
    }
    ServerAnswer* answer =
        libpq.PQexecPrepared(connection_.link(), name_.c_str(), count, data.data(), lengths.data(),
                             formats.data(), kBinary);
    const int kind = answer == nullptr ? -1 : libpq.PQresultStatus(answer);
    if (kind != kCommandDone && kind != kRowsCame) return connection_.Take(answer, true);
    answer_ = answer;
    return {};
  }
  void Clear() {
    if (answer_ != nullptr) connection_.libpq().PQclear(answer_);
    answer_ = nullptr;
    row_ = -1;
  }

  PostgresConnection& connection_;
  const std::string sql_, name_;
  std::vector<Bound> values_;
  ServerAnswer* answer_ = nullptr;
  int row_ = -1;
  int prepared_on_ = 0;
};

std::unique_ptr<PreparedStatement> PostgresConnection::MakeStatement(const char* sql) {
  return std::make_unique<PostgresStatement>(*this, WithNumberedPlaces(sql),
                                             "s" + std::to_string(++statements_made_));
}

// Where the password of "postgresql://user:password@…" stands, with its colon: an unescaped one may
// hold any character, so the last @ ends it. Empty: there is none.
std::string_view PasswordIn(std::string_view address) {
  const size_t begin = address.find("//") + 2, at = address.rfind('@');
  const size_t colon = address.find(':', begin);
  if (at == std::string_view::npos || colon > at) return address.substr(0, 0);
  return address.substr(colon, at - colon);
}

// libpq's own words about an address that it cannot read would show the password, or a part of it.
Status CheckAddress(const Libpq& libpq, const std::string& address) {
  char* words = nullptr;
  void* parts = libpq.PQconninfoParse(address.c_str(), &words);
  const bool is_read = parts != nullptr;
  if (is_read) libpq.PQconninfoFree(parts);
  if (words != nullptr) libpq.PQfreemem(words);
  if (is_read && PasswordIn(address).find_first_of("@/?#") == std::string_view::npos) return {};
  return Error{ErrorCode::kUsage,
               "the address of store " + WithoutPassword(address) + " cannot be read",
               "write postgresql://USER@HOST/DATABASE; leave the password to $PGPASSWORD or "
               "~/.pgpass, or write its special characters as %40, %2F, ..."};
}

}  // namespace

bool IsServerAddress(std::string_view where) {
  return where.starts_with("postgresql://") || where.starts_with("postgres://");
}

std::string WithoutPassword(std::string_view address) {
  std::string shown(address);
  if (const std::string_view password = PasswordIn(address); !password.empty()) {
    shown.erase(static_cast<size_t>(password.data() - address.data()), password.size());
  }
  // It may hold an unescaped &: what comes after it is not shown either.
  const size_t parameter = shown.find("password=");
  if (parameter != std::string::npos) shown.erase(parameter + std::strlen("password")) += "=...";
  return shown;
}

Result<std::unique_ptr<Connection>> OpenPostgres(const std::string& address,
                                                 const PostgresOptions& options) {
  const Libpq* libpq = TRY(TheLibpq());
  TRY(CheckAddress(*libpq, address));
  auto connection = std::make_unique<PostgresConnection>(*libpq, address, options);
  TRY(connection->Configure());
  return std::unique_ptr<Connection>(std::move(connection));
}

}  // namespace warpsmith::store
