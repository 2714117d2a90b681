#include "store/connection.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

namespace warpsmith::store {

Statement& Statement::Bind(double value) {
  if (std::isnan(value)) return BindNull();
  return BindValue(value);
}

Status Statement::Run() {
  while (TRY(Next())) {
  }
  return {};
}

Result<int64_t> Statement::RunForId() {
  const int64_t id = TRY(Next()) ? Int(0) : 0;
  TRY(Run());
  return id;
}

int64_t Statement::Int(int column) const {
  const Value value = prepared_->Column(column);
  if (const auto* number = std::get_if<double>(&value)) return static_cast<int64_t>(*number);
  const auto* number = std::get_if<int64_t>(&value);
  return number != nullptr ? *number : 0;
}

double Statement::Real(int column) const {
  const Value value = prepared_->Column(column);
  if (const auto* number = std::get_if<int64_t>(&value)) return static_cast<double>(*number);
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? *number : std::numeric_limits<double>::quiet_NaN();
}

std::string Statement::Text(int column) const {
  const Value value = prepared_->Column(column);
  if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return std::string(TextView(column));
}

std::string_view Statement::TextView(int column) const {
  const Value value = prepared_->Column(column);
  if (const auto* blob = std::get_if<Blob>(&value)) return blob->bytes;
  const auto* text = std::get_if<std::string_view>(&value);
  return text != nullptr ? *text : std::string_view();
}

Statement Connection::Prepare(const char* sql) {
  const auto found = statements_.find(std::string_view(sql));
  if (found != statements_.end()) return Statement(*found->second);
  return Statement(*statements_.emplace(sql, MakeStatement(sql)).first->second);
}

Result<Transaction> Transaction::Begin(Connection& connection) {
  TRY(connection.Begin(true));
  return Transaction(&connection);
}

Result<Transaction> Transaction::BeginReading(Connection& connection) {
  TRY(connection.Begin(false));
  return Transaction(&connection);
}

Status Transaction::Commit() {
  TRY(connection_->Commit());
  connection_ = nullptr;
  return {};
}

}  // namespace warpsmith::store
