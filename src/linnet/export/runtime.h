#include <stddef.h>

#define LINNET_NO_ANSWER (-1)
#define LINNET_OUT_OF_MEMORY (-2)

#ifdef __cplusplus
extern "C" {
#endif

/* The labels, UTF-8, in the order of the probabilities. */
extern const char *const linnet_labels[LINNET_CLASSES];

/* The probability from which each label is an answer; below 0: it has no threshold of its own. Where texts have several
   labels, every label that reaches its threshold is one of them. */
extern const double linnet_thresholds[LINNET_CLASSES];

/* Classify a text of so many bytes of UTF-8. Writes LINNET_CLASSES probabilities. Returns the number of the label,
   LINNET_NO_ANSWER where the model abstains, or LINNET_OUT_OF_MEMORY; where texts have several labels, the most probable.
   May be called from several threads at once. */
int linnet_predict(const char *text, size_t length, double *probabilities);

/* Called for each place of each feature of a text that the model knows: its first byte, the byte behind its last, and what
   it adds to the score of the label. A space around a word that is part of a feature is not part of the place. */
typedef void (*linnet_visit)(void *context, size_t start, size_t end, double value);

/* Show what the features of a text add to the score of a label (log-odds, before the calibration curve where there is one).
   Returns the intercept, which with all values adds up to the score; NAN where memory is out. */
double linnet_explain(const char *text, size_t length, int label, linnet_visit visit, void *context);

#ifdef __cplusplus
}
#endif
