# Finds CUDA's headers: warpsmith::cuda_headers. Nothing of CUDA is linked; the driver, NVRTC,
# cuBLAS and CUPTI are opened at run time, so that the program starts where there is no GPU.
#
# Looked at in this order, the first with cuda.h of CUDA 13 or newer wins:
#   $WARPSMITH_CUDA_HOME, $CUDA_HOME, /usr/local/cuda, and the PyPI wheels in .venv/ (tools/setup).
# A WARPSMITH_CUDA_HOME that is set must be usable: it is somebody's decision, never skipped.

file(GLOB wheel_roots ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu13)
set(candidates)
foreach(candidate "$ENV{WARPSMITH_CUDA_HOME}" "$ENV{CUDA_HOME}" /usr/local/cuda ${wheel_roots})
  if(candidate)
    list(APPEND candidates ${candidate})
  endif()
endforeach()

# Sets `result` to the CUDA_VERSION of <root>/include/cuda.h (13000 for 13.0), or 0.
function(warpsmith_cuda_version root result)
  set(${result} 0 PARENT_SCOPE)
  if(EXISTS ${root}/include/cuda.h)
    file(STRINGS ${root}/include/cuda.h line REGEX "^#define CUDA_VERSION [0-9]+")
    string(REGEX MATCH "[0-9]+" version "${line}")
    set(${result} ${version} PARENT_SCOPE)
  endif()
endfunction()

set(WARPSMITH_CUDA_ROOT "" CACHE PATH "Folder of CUDA 13's include/ and lib/; empty: look for it")
set(cuda_root ${WARPSMITH_CUDA_ROOT})
if(NOT cuda_root)
  foreach(candidate IN LISTS candidates)
    warpsmith_cuda_version(${candidate} version)
    if(version GREATER_EQUAL 13000)
      set(cuda_root ${candidate})
      break()
    elseif(candidate STREQUAL "$ENV{WARPSMITH_CUDA_HOME}")
      message(FATAL_ERROR "WARPSMITH_CUDA_HOME=${candidate} holds no CUDA 13 (include/cuda.h says "
        "version ${version}). Point it at a CUDA 13 toolkit, or unset it.")
    endif()
  endforeach()
endif()
if(NOT cuda_root)
  list(JOIN candidates ", " tried)
  message(FATAL_ERROR "No CUDA 13 headers found (looked in: ${tried}). Run tools/setup, which "
    "installs them from PyPI into .venv/, or set CUDA_HOME to a CUDA 13 toolkit.")
endif()

add_library(warpsmith_cuda_headers INTERFACE)
add_library(warpsmith::cuda_headers ALIAS warpsmith_cuda_headers)
target_include_directories(warpsmith_cuda_headers SYSTEM INTERFACE
  ${cuda_root}/include ${cuda_root}/extras/CUPTI/include)
set(WARPSMITH_FOUND_CUDA_ROOT ${cuda_root})
message(STATUS "CUDA headers: ${cuda_root}")
