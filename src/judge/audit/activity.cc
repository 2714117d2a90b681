#include "judge/audit/activity.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "judge/audit/imports.h"

namespace warpsmith::audit {
namespace {

using standalone::ActivityCall;
using standalone::ActivityKind;
using standalone::ActivityLog;
using standalone::ActivityRecord;

// Device and host stamps are brought onto one clock with an error of about a microsecond.
constexpr int64_t kSlackNs = 20'000;
constexpr double kNsPerUs = 1000;

bool IsOwn(const ActivityRecord& record, const ActivitySubject& subject) {
  const auto& own = subject.own_kernels;
  return std::find(own.begin(), own.end(), record.name) != own.end();
}

std::optional<std::string> ForeignKernel(const ActivityLog& log, const ActivitySubject& subject) {
  for (const ActivityRecord& record : log.records) {
    if (record.kind != ActivityKind::kKernel || IsOwn(record, subject)) continue;
    const std::string name = Demangled(record.name);
    const LibraryFamily* family = FamilyOfKernel(name);
    if (family != nullptr && !Allows(subject.allow, family->name)) {
      return "kernel '" + name + "' of " + std::string(family->name) +
             ", which the task does not allow";
    }
    if (family == nullptr && subject.allow.empty() && !subject.own_kernels.empty()) {
      return "kernel '" + name + "' is not one of its own";
    }
  }
  return std::nullopt;
}

// Whether some call contains the record's begin.
bool BeganInACall(const ActivityRecord& record, const std::vector<ActivityCall>& calls) {
  return std::any_of(calls.begin(), calls.end(), [&](const ActivityCall& call) {
    return record.start_ns >= call.begin_ns - kSlackNs &&
           record.start_ns <= call.idle_ns + kSlackNs;
  });
}

std::string NameOf(const ActivityRecord& record) {
  switch (record.kind) {
    case ActivityKind::kKernel:
      return "kernel '" + Demangled(record.name) + "'";
    case ActivityKind::kCopy:
      return "a copy of " + std::to_string(record.bytes) + " bytes";
    case ActivityKind::kFill:
      return "a fill of " + std::to_string(record.bytes) + " bytes";
    case ActivityKind::kJoin:
      return "a wait for another stream";
  }
  return "";
}

std::optional<std::string> WorkBetweenCalls(const ActivityLog& log) {
  for (const ActivityRecord& record : log.records) {
    if (record.kind == ActivityKind::kJoin || log.calls.empty()) continue;
    if (record.start_ns < log.calls.front().begin_ns) continue;  // preparations
    if (!BeganInACall(record, log.calls)) return NameOf(record) + " began after a call was over";
  }
  return std::nullopt;
}

bool Joins(const ActivityLog& log, const ActivityCall& call) {
  return std::any_of(log.records.begin(), log.records.end(), [&](const ActivityRecord& record) {
    return record.kind == ActivityKind::kJoin && record.stream == log.stream &&
           record.start_ns >= call.begin_ns && record.start_ns <= call.idle_ns;
  });
}

// The last record of each stream that began within the call.
std::map<uint32_t, const ActivityRecord*> LastOfStreams(const ActivityLog& log,
                                                        const ActivityCall& call) {
  std::map<uint32_t, const ActivityRecord*> last;
  for (const ActivityRecord& record : log.records) {
    if (record.kind == ActivityKind::kJoin) continue;
    if (record.start_ns < call.begin_ns || record.start_ns > call.idle_ns) continue;
    const ActivityRecord*& known = last[record.stream];
    if (known == nullptr || record.end_ns > known->end_ns) known = &record;
  }
  return last;
}

std::optional<std::string> UnjoinedStream(const ActivityLog& log) {
  if (log.stream == 0) return std::nullopt;  // not known
  for (const ActivityCall& call : log.calls) {
    const auto last = LastOfStreams(log, call);
    const auto own = last.find(log.stream);
    if (last.size() < 2 || own == last.end() || Joins(log, call)) continue;
    for (const auto& [stream, record] : last) {
      const bool outlasts = record->end_ns > own->second->end_ns + kSlackNs &&
                            record->end_ns > call.returned_ns + kSlackNs;
      if (outlasts) {
        return NameOf(*record) + " on stream " + std::to_string(stream) +
               " outlasts the call's stream, which does not wait for it";
      }
    }
  }
  return std::nullopt;
}

int64_t BusyNs(const ActivityLog& log) {
  int64_t busy_ns = 0, until_ns = 0;
  for (const ActivityRecord& record : log.records) {  // in order of start
    if (!BeganInACall(record, log.calls)) continue;
    busy_ns += std::max<int64_t>(0, record.end_ns - std::max(record.start_ns, until_ns));
    until_ns = std::max(until_ns, record.end_ns);
  }
  return busy_ns;
}

int64_t CountOf(const ActivityLog& log, ActivityKind kind) {
  return std::count_if(log.records.begin(), log.records.end(),
                       [kind](const ActivityRecord& record) { return record.kind == kind; });
}

std::string Summary(const ActivityLog& log, const ActivitySubject& subject) {
  std::string text = log.tracer + ": " + std::to_string(CountOf(log, ActivityKind::kKernel)) +
                     " kernels, " + std::to_string(CountOf(log, ActivityKind::kCopy)) +
                     " copies, " + std::to_string(CountOf(log, ActivityKind::kFill)) +
                     " fills in " + std::to_string(log.calls.size()) + " calls";
  if (const auto times = TimesPerCall(log)) {
    text += ", busy " + std::to_string(std::lround(times->busy_us)) + " of " +
            std::to_string(std::lround(times->wall_us)) + " us a call";
  }
  return subject.form == Form::kProgram ? text + " (the program's own process says so)" : text;
}

}  // namespace

std::optional<ActivityTimes> TimesPerCall(const ActivityLog& log) {
  if (log.calls.empty()) return std::nullopt;
  int64_t wall_ns = 0;
  for (const ActivityCall& call : log.calls) wall_ns += call.idle_ns - call.begin_ns;
  const double calls = static_cast<double>(log.calls.size()) * kNsPerUs;
  return ActivityTimes{static_cast<double>(BusyNs(log)) / calls,
                       static_cast<double>(wall_ns) / calls};
}

AuditFinding JudgeActivity(const ActivityLog& log, const ActivitySubject& subject) {
  if (!log.absent.empty()) return Absent(kActivity, log.absent);
  if (log.calls.empty()) return Absent(kActivity, "no call was recorded");
  if (const auto found = ForeignKernel(log, subject)) return Violated(kActivity, *found);
  if (const auto found = WorkBetweenCalls(log)) return Violated(kActivity, *found);
  if (const auto found = UnjoinedStream(log)) return Violated(kActivity, *found);
  if (log.records.empty()) return Absent(kActivity, log.tracer + " saw nothing on the device");
  return Clean(kActivity, Summary(log, subject));
}

}  // namespace warpsmith::audit
