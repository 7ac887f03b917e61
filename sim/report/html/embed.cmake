# cmake -DNAME=kStyle -DOUT=style.cpp -DFILES=a.css;b.css -P embed.cmake: the files, one after the other, as a string of C++.
set(text "")
foreach(path IN LISTS FILES)
  file(READ ${path} part)
  string(APPEND text "${part}")
endforeach()
file(WRITE ${OUT} "#include \"sim/report/html/assets.h\"

namespace tcsim::sim::html {

const std::string_view ${NAME} = R\"embedded(${text})embedded\";

}  // namespace tcsim::sim::html
")
