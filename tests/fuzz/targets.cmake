# One executable <reader>_fuzz for each <reader>_fuzz.cc, and all_fuzzers.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  message(FATAL_ERROR "fuzzers need clang with libFuzzer: configure with 'cmake --preset fuzz', "
    "which names one")
endif()

set(instrumentation -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined)
add_compile_options(${instrumentation} -fsanitize=fuzzer-no-link -fno-omit-frame-pointer)
add_link_options(${instrumentation})
# A reader's file may also hold what uses a database or a device. Nothing here calls that, so it is
# dropped before anyone looks for what it would call (and vptr, which needs its types, is off).
add_compile_options(-ffunction-sections)
add_link_options(-fuse-ld=lld LINKER:--gc-sections)

# Of each folder what its readers are made of, and what they call.
set(base_files append_file build_info clock compression display_text elf elf_imports error file
  file_lock find_program foreign_file frame json_reader random remove_tree sha256 spawn subprocess utf8)
set(core_files budget candidate chat_model device dtype expression expression_parser json_fields
  program_shim protocol resolved_plan reward resolved_tensor_map serialize_candidate serialize_chat
  serialize_device serialize_plan serialize_task serialize_timing serialize_verdict space step task
  verdict ranking)
set(cuda_files library)
set(task_files candidate_file check_text cuda_scan cuda_tokens embed hgemm_task launch_expression
  program_call scaffold scaffold_guess source_files task_file task_rules toml_json toml_text)
set(store_files bundle bundle_results candidate_text canonical_dump contender_json line_journal
  recording recording_format verdict_parts)
set(judge_profile_files access_rules bottleneck bottleneck_table csv latency_rules metrics
  ncu_report ncu_values reading render roofline_rules shape_rules throughput_rules told_once)
set(agent_prompts_files candidate_arguments code_reply edit elision file_name model_answer reply_blocks reply_plan reply_text
  search_blocks unified_diff)
set(judge_audit_files activity embedded_binary finding_cache image_rules imports library_names literals opcode_policy
  sanitizer_text)
set(judge_standalone_files activity_log job)
set(compile_files artifact_cache compilation cubin flag_rules opcodes pack program_build ptx_reads
  resource_report)
set(judge_baseline_files bar_table torch_gemm)
set(judge_files bias burst_page correctness peer_wire problem wire wire_error)
set(judge_torch_files torch_process)
set(agent_knowledge_files contents diff facts knowledge_text posterior quoted tally)
set(task_kernelbench_files binding checkout driver_description driver_process inspection
  launch_declaration launch_match size_tag task_document)
set(serve_mcp_files message session)
set(serve_http_files access requests)
set(agent_models_files recorded reply_reader retry server_events)

set(agent_split_files join parts reply)
set(hgemm_files catalogue catalogue_merge catalogue_text comparison_table comparison_text
  cost_model device_source families features library_times measured_cells mma_sync_family problem tiny_family
  tree_model wgmma_family wgmma_geometry wgmma_space)
set(gemm_library_files pack)

set(sources)
foreach(module base core cuda task task/kernelbench store judge judge/audit judge/baseline
    judge/profile judge/standalone judge/torch compile agent/knowledge agent/models agent/prompts
    agent/split serve/mcp serve/http hgemm gemm_library)
  string(REPLACE "/" "_" files ${module}_files)
  foreach(file IN LISTS ${files})
    set(source ${WARPSMITH_SOURCE_ROOT}/${module}/${file}.cc)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${files})
    list(APPEND sources ${source})
  endforeach()
endforeach()
add_library(fuzzed_readers STATIC ${sources} fuzz.cc)
target_include_directories(fuzzed_readers PUBLIC ${WARPSMITH_SOURCE_ROOT})
target_link_libraries(fuzzed_readers PUBLIC fmt::fmt-header-only nlohmann_json::nlohmann_json
  warpsmith::toml warpsmith::crypto zstd::libzstd_static Threads::Threads ${CMAKE_DL_LIBS})
# A module's readers are compiled together, as everywhere (cmake/modules.cmake).
set_target_properties(fuzzed_readers PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
set_source_files_properties(${WARPSMITH_SOURCE_ROOT}/base/build_info.cc PROPERTIES
  COMPILE_DEFINITIONS "WARPSMITH_BUILD_VERSION=\"fuzz\";WARPSMITH_BUILD_COMMIT=\"\"\
;WARPSMITH_BUILD_COMPILER=\"\";WARPSMITH_BUILD_CUDA_ROOT=\"\"\
;WARPSMITH_BUILD_SOURCE_ROOT=\"${CMAKE_SOURCE_DIR}\"")

warpsmith_embed(fuzzed_readers NAME torch_script FILES ${WARPSMITH_SOURCE_ROOT}/judge/baseline/torch_gemm.py)
warpsmith_embed(fuzzed_readers NAME kernelbench_scripts
  FILES ${WARPSMITH_SOURCE_ROOT}/task/kernelbench/inspect_problems.py)
warpsmith_embed(fuzzed_readers NAME model_block FILES ${WARPSMITH_SOURCE_ROOT}/judge/profile/model_block.txt)
file(GLOB peer_sources CONFIGURE_DEPENDS ${WARPSMITH_SOURCE_ROOT}/judge/torch/*.py
  ${WARPSMITH_SOURCE_ROOT}/judge/torch/warpsmith_peer/*.py)
warpsmith_embed(fuzzed_readers NAME torch_peer FILES ${peer_sources}
  BASE ${WARPSMITH_SOURCE_ROOT}/judge/torch)

file(GLOB device_sources CONFIGURE_DEPENDS ${WARPSMITH_SOURCE_ROOT}/hgemm/device/*.cuh)
warpsmith_embed(fuzzed_readers NAME hgemm_device_sources FILES ${device_sources})
warpsmith_embed(fuzzed_readers NAME hgemm_cost_model BASE ${CMAKE_SOURCE_DIR}
  FILES ${CMAKE_SOURCE_DIR}/data/hgemm/model_h200.json)

add_custom_target(all_fuzzers ALL)
foreach(reader IN LISTS readers)
  add_executable(${reader}_fuzz ${reader}_fuzz.cc)
  target_link_libraries(${reader}_fuzz PRIVATE fuzzed_readers)
  target_link_options(${reader}_fuzz PRIVATE -fsanitize=fuzzer)
  add_dependencies(all_fuzzers ${reader}_fuzz)
endforeach()
