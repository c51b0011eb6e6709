# CMake toolchain file: Emscripten as `npm run setup` found or unpacked it.
execute_process(COMMAND node ${CMAKE_CURRENT_LIST_DIR}/where.mjs root
                OUTPUT_VARIABLE headwise_emscripten_root COMMAND_ERROR_IS_FATAL ANY)
include(${headwise_emscripten_root}/cmake/Modules/Platform/Emscripten.cmake)
# CMake would compile a program to find out; that takes four seconds. The options of each target say where threads are.
set(CMAKE_HAVE_LIBC_PTHREAD ON CACHE INTERNAL "Threads need no library")
