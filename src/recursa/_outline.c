/* The outline of an XML document: its words, and where elements with names stand. Nothing is made of the rest.
 *
 * Most documents of robots are plain: tags, attributes, comments, blanks, in ASCII. This reads them, and nothing else.
 * What it takes is well-formed, and outlined as formats/xml_nodes.py does it, by expat; of whatever it does not know, or
 * is larger than it may be, it says None, and others look closer. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#define WORDS 128 /* different ones at most, and a power of two */
#define DEPTH 512

PyObject *read_outline(PyObject *module, PyObject *args);

typedef struct {
    const char *text;
    Py_ssize_t size;
} Piece;

typedef struct {
    Piece word;
    PyObject *lines; /* of tags: by the names of elements; owned */
} Word;

typedef struct {
    Word places[WORDS];   /* by hash */
    uint8_t found[WORDS]; /* which ones, in the order in which they were met */
    Py_ssize_t count;
} Words;

typedef struct {
    const char *at, *end;
    unsigned long line;
    Words tags, names;
    Piece open[DEPTH]; /* tags of the elements that are not closed yet */
    Py_ssize_t inside, depth, attributes, length, left; /* left: how many '<' may still come */
    int blank;                                          /* a value is empty or begins with a blank */
    PyObject *root;                                     /* attributes of the root element */
} Outline;

/* Letters: of names, and those that can be first; in values and comments those to pass over, and those to look at. */
enum { NAME = 1, FIRST = 2, PLAIN = 4, SPECIAL = 8, BLANK = 16 };

static uint8_t kinds[256];

static void sort_letters(void)
{
    for (int c = 0; c < 256; c++) {
        int letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        int name = letter || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == ':';
        int shown = c >= ' ' && c < 127, special = shown && strchr("\"'<&-nN", c) != NULL;
        int blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
        kinds[c] = (uint8_t)((name ? NAME : 0) | (letter ? FIRST : 0) | (special ? SPECIAL : shown ? PLAIN : 0) |
                             (blank ? BLANK : 0));
    }
}

static int is(const Outline *self, int kind)
{
    return self->at < self->end && kinds[(unsigned char)*self->at] & kind;
}

static int same(Piece one, Piece other)
{
    return one.size == other.size && memcmp(one.text, other.text, (size_t)one.size) == 0;
}

static int comes(Outline *self, const char *text)
{
    Py_ssize_t size = (Py_ssize_t)strlen(text);
    if (self->end - self->at < size || memcmp(self->at, text, (size_t)size) != 0)
        return 0;
    self->at += size;
    return 1;
}

/* One letter that is no plain one: the end of a line; 0 if it does not belong there. */
static int new_line(Outline *self)
{
    if (*self->at == '\r' && self->at + 1 < self->end && self->at[1] == '\n')
        self->at++;
    self->line += *self->at == '\n';
    return *self->at == '\n' || *self->at == '\t';
}

static int blanks(Outline *self)
{
    for (; is(self, BLANK); self->at++)
        if (*self->at != ' ' && !new_line(self))
            return 0;
    return 1;
}

static Piece name(Outline *self)
{
    Piece found = {self->at, 0};
    if (is(self, FIRST))
        while (is(self, NAME))
            self->at++;
    found.size = self->at - found.text;
    return found;
}

/* The place of a word, new or not; NULL if there are too many. */
static Word *remember(Words *words, Piece word)
{
    uint32_t sum = 2166136261u; /* Fowler, Noll, Vo */
    for (Py_ssize_t k = 0; k < word.size; k++)
        sum = (sum ^ (unsigned char)word.text[k]) * 16777619u;
    for (uint32_t k = 0; k < WORDS; k++) {
        Word *place = &words->places[(sum + k) % WORDS];
        if (place->word.text == NULL) {
            place->word = word;
            words->found[words->count++] = (uint8_t)(place - words->places);
            return place;
        }
        if (same(place->word, word))
            return place;
    }
    return NULL;
}

/* What stands between quotes, and how many lines it has; 0 if it wants a closer look, as what could be no number. */
static int value(Outline *self, Piece *found, int *broken)
{
    char quote = self->at < self->end ? *self->at++ : 0;
    if (quote != '"' && quote != '\'')
        return 0;
    found->text = self->at;
    *broken = 0;
    for (;; self->at++) {
        while (is(self, PLAIN))
            self->at++;
        if (self->at >= self->end || *self->at == '<' || *self->at == '&')
            return 0;
        if (*self->at == quote)
            break;
        if (is(self, SPECIAL)) {
            if ((*self->at | 32) == 'n' && self->end - self->at > 2 && (self->at[1] | 32) == 'a' &&
                (self->at[2] | 32) == 'n')
                return 0;
        } else {
            *broken = 1;
            if (!new_line(self))
                return 0;
        }
    }
    found->size = self->at++ - found->text;
    self->blank |= found->size == 0 || *found->text <= ' ';
    return found->size <= self->length;
}

static int comment(Outline *self)
{
    for (;; self->at++) {
        while (is(self, PLAIN))
            self->at++;
        if (self->at >= self->end || *self->at == '&')
            return 0;
        if (*self->at == '-' && self->at + 1 < self->end && self->at[1] == '-')
            return comes(self, "-->"); /* two hyphens stand nowhere else */
        if (!is(self, SPECIAL) && !new_line(self))
            return 0;
    }
}

static PyObject *string(Piece piece)
{
    return PyUnicode_DecodeASCII(piece.text, piece.size, "strict");
}

static int put(PyObject *dictionary, Piece key, PyObject *stolen)
{
    PyObject *made = stolen == NULL ? NULL : string(key);
    int done = made == NULL ? -1 : PyDict_SetItem(dictionary, made, stolen);
    Py_XDECREF(made);
    Py_XDECREF(stolen);
    return done;
}

static int placed(Word *tag, Piece own, unsigned long line)
{
    if (tag->lines == NULL && (tag->lines = PyDict_New()) == NULL)
        return -1;
    return put(tag->lines, own, PyLong_FromUnsignedLong(line));
}

/* A start tag behind its '<': 1, 0 if it wants a closer look, -1 if an exception is set. */
static int started(Outline *self)
{
    static const Piece NAMED = {"name", 4};
    const unsigned long line = self->line;
    Piece given[128], tag = name(self);
    Word *word = tag.size ? remember(&self->tags, tag) : NULL;
    if (word == NULL || self->inside >= self->depth)
        return 0;
    for (Py_ssize_t count = 0;; count++) {
        const char *before = self->at;
        if (!blanks(self))
            return 0;
        if (comes(self, "/>"))
            return 1;
        if (comes(self, ">")) {
            self->open[self->inside++] = tag;
            return 1;
        }
        if (self->at == before || count >= self->attributes)
            return 0;
        Piece own = given[count] = name(self), text;
        int broken;
        if (own.size == 0 || remember(&self->names, own) == NULL || !blanks(self) || !comes(self, "=") ||
            !blanks(self) || !value(self, &text, &broken))
            return 0;
        for (Py_ssize_t k = 0; k < count; k++)
            if (same(given[k], own))
                return 0;
        int named = same(own, NAMED);
        if (broken && (named || self->inside == 0))
            return 0;
        if ((named && placed(word, text, line) < 0) ||
            (self->inside == 0 && put(self->root, own, string(text)) < 0))
            return -1;
    }
}

static int ended(Outline *self)
{
    Piece tag = name(self);
    return blanks(self) && comes(self, ">") && self->inside > 0 && same(tag, self->open[--self->inside]);
}

static int declared(Outline *self)
{
    static const char *known[] = {"<?xml version=\"1.0\"?>", "<?xml version='1.0'?>",
                                  "<?xml version=\"1.0\" encoding=\"utf-8\"?>",
                                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"};
    for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++)
        if (comes(self, known[k]))
            return 1;
    return self->end - self->at < 2 || self->at[1] != '?';
}

/* 1, 0 or -1 as for a start tag. */
static int outlined(Outline *self)
{
    int roots = 0, done = declared(self);
    while (done == 1) {
        if (!blanks(self))
            return 0;
        if (self->at >= self->end)
            return roots == 1 && self->inside == 0;
        if (!comes(self, "<") || self->left-- <= 0)
            return 0;
        if (comes(self, "!--"))
            done = comment(self);
        else if (comes(self, "/"))
            done = ended(self);
        else {
            roots += self->inside == 0;
            done = roots == 1 ? started(self) : 0;
        }
    }
    return done;
}

static PyObject *all_words(const Words *words, int blank)
{
    PyObject *found = PyTuple_New(words->count + blank);
    for (Py_ssize_t k = 0; found != NULL && k < words->count + blank; k++) {
        PyObject *made = k < words->count ? string(words->places[words->found[k]].word) : PyUnicode_FromString("");
        if (made == NULL)
            Py_CLEAR(found);
        else
            PyTuple_SET_ITEM(found, k, made);
    }
    return found;
}

static PyObject *told(Outline *self)
{
    PyObject *lines = PyDict_New();
    for (Py_ssize_t k = 0; lines != NULL && k < self->tags.count; k++) {
        const Word *tag = &self->tags.places[self->tags.found[k]];
        if (tag->lines != NULL && put(lines, tag->word, Py_NewRef(tag->lines)) < 0)
            Py_CLEAR(lines);
    }
    PyObject *tags = lines == NULL ? NULL : all_words(&self->tags, 0);
    PyObject *names = tags == NULL ? NULL : all_words(&self->names, self->blank);
    PyObject *result = names == NULL ? NULL : PyTuple_Pack(4, tags, names, lines, self->root);
    Py_XDECREF(names);
    Py_XDECREF(tags);
    Py_XDECREF(lines);
    return result;
}

PyObject *read_outline(PyObject *module, PyObject *args)
{
    PyObject *document;
    Py_ssize_t depth, attributes, length, most;
    (void)module;
    if (!PyArg_ParseTuple(args, "Snnnn", &document, &depth, &attributes, &length, &most))
        return NULL;
    Outline *self = PyMem_Calloc(1, sizeof(Outline));
    if (self == NULL)
        return PyErr_NoMemory();
    if (kinds['a'] == 0)
        sort_letters();
    self->at = PyBytes_AS_STRING(document);
    self->end = self->at + PyBytes_GET_SIZE(document);
    self->line = 1;
    self->depth = depth < DEPTH ? depth : DEPTH;
    self->attributes = attributes < 128 ? attributes : 128;
    self->length = length;
    self->left = most;
    self->root = PyDict_New();
    int done = self->root == NULL ? -1 : outlined(self);
    PyObject *result = done < 0 ? NULL : done ? told(self) : Py_NewRef(Py_None);
    for (Py_ssize_t k = 0; k < self->tags.count; k++)
        Py_XDECREF(self->tags.places[self->tags.found[k]].lines);
    Py_XDECREF(self->root);
    PyMem_Free(self);
    return result;
}
