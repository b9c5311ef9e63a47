/* No include guard: includes the file FL_TEMPLATE once for float and once for double. In it, T is
 * the type, F(name) the name of a function of that type, and FL_IS_FLOAT tells which one it is. */
#define T float
#define F(name) name##_f32
#define FL_IS_FLOAT 1
#define FL_IS_REAL 1
#include FL_TEMPLATE
#undef T
#undef F
#undef FL_IS_FLOAT
#undef FL_IS_REAL
#define T double
#define F(name) name##_f64
#define FL_IS_FLOAT 0
#define FL_IS_REAL 1
#include FL_TEMPLATE
#undef T
#undef F
#undef FL_IS_FLOAT
#undef FL_IS_REAL
#undef FL_TEMPLATE
