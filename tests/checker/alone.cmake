# Copies checker/ alone to an empty place, builds it there and lets it check a certificate: it needs
# nothing of the rest of the tree. Run with cmake -P; see tests/CMakeLists.txt.

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
file(COPY "${SOURCE_DIR}/checker" DESTINATION "${WORK_DIR}")
run("${CMAKE_COMMAND}" -S "${WORK_DIR}/checker" -B "${WORK_DIR}/build" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
    "-DCMAKE_CXX_FLAGS=${FLAGS}")
run("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
run("${CMAKE_COMMAND}" -E env "ROPEWALK_CHECK=${WORK_DIR}/build/bin/ropewalk-check" "${PYTHON}" -B
    "${SOURCE_DIR}/tests/checker/checker_test.py" Facts)
