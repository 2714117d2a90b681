// Asks a model server that speaks OpenAI's chat completions.
#ifndef WARPSMITH_AGENT_MODELS_CLIENT_H_
#define WARPSMITH_AGENT_MODELS_CLIENT_H_

#include <memory>
#include <stop_token>

#include "agent/models/endpoint.h"
#include "base/result.h"
#include "core/chat_model.h"

namespace warpsmith::models {

// Takes the key from the environment now. It is sent to the endpoint only: where a server repeats
// it, errors and replies say [key].
//
// kConfig: no key where one is named, or the address is none; kUnavailable: no libcurl.
// Complete: kPermission, the server does not take the key; kConfig, it does not know the address,
// the model or a field; kUnavailable, it cannot be reached or fails, after the retries; kTimeout;
// kBadInput, what it answers is no reply; kInterrupted, when `stop` is requested or on Ctrl-C.
Result<std::unique_ptr<ChatModel>> ConnectTo(Endpoint endpoint, std::stop_token stop = {});

}  // namespace warpsmith::models

#endif  // WARPSMITH_AGENT_MODELS_CLIENT_H_
