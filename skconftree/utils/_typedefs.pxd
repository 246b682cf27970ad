# Integer and floating types of the compiled code, named as in scikit-learn.
# A local copy keeps scikit-learn out of the build.

ctypedef signed char int8_t
ctypedef unsigned char uint8_t
ctypedef unsigned short uint16_t
ctypedef unsigned int uint32_t
ctypedef unsigned long long uint64_t
ctypedef short int16_t
ctypedef int int32_t
ctypedef long long int64_t
ctypedef Py_ssize_t intp_t
ctypedef float float32_t
ctypedef double float64_t
ctypedef unsigned short label_t     # a class index
