// The functions that C calls exp, exp2, log, pow, sin and cos, for WebAssembly. The linker takes these, and so never
// looks for those of musl.

#include "base/real_functions.h"

extern "C" {

double exp(double x) { return headwise::real::exp(x); }
double exp2(double x) { return headwise::real::exp2(x); }
double log(double x) { return headwise::real::log(x); }
double pow(double x, double y) { return headwise::real::pow(x, y); }
double sin(double x) { return headwise::real::sin(x); }
double cos(double x) { return headwise::real::cos(x); }
}
