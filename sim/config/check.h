// Facts that hold between the values of a machine, checked after each value was found good by itself.
#pragma once
#include <functional>
#include <string>

#include "sim/config/machine.h"

namespace tcsim::cfg {

/// place_of gives the place of a key's value in the machine file.
void check_machine(const Machine& machine, const std::function<Place(const std::string&)>& place_of, Diagnostics& diags);

}  // namespace tcsim::cfg
