/* Trees of plain XML documents, fast.
 *
 * Plain are start and end tags with ASCII names, attributes on one line each, comments, and text without markup, which
 * is dropped. Whatever else a document has, errors among it, is left to expat: the answer is then None, and never a
 * tree that expat would not have made. formats/xml.py asks here first; the tests compare both.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

enum { MAX_DEPTH = 64, MAX_ATTRIBUTES = 64, MAX_VALUE = 8192 }; /* of what is plain; what is too much formats/xml.py says */

typedef struct {
    const char *at; /* the next byte; the document ends with NUL and contains none */
    long line;
} Reader;

typedef struct {
    PyObject *children; /* of an element that is open; held by the element */
    const char *name;
    Py_ssize_t length;
} Open;

enum { TAG, ATTRIBUTES, CHILDREN, LINE, SOURCE, NOTES, TEXT, FIELDS }; /* of an element */

static const char *const NAMES[FIELDS] = {"tag", "attributes", "children", "line", "source", "notes", "text"};

typedef struct {
    PyObject *element, *source, *notes; /* the class, and what every element is given */
    PyObject *names[FIELDS];            /* its attributes, interned */
    Open open[MAX_DEPTH];
    int depth;
    PyObject *root;
} Tree;

enum { FAILED = -1, UNUSUAL = 0, FINE = 1 };

static int is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':'; }

static int is_name(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.'; }

/* Whether a byte of text or of a value may be something that XML forbids, or that has to be looked at. */
static int is_odd(char c) {
    unsigned char byte = (unsigned char)c;
    return byte < 0x20 || c == '&' || byte == 0xef; /* 0xef begins U+FFFE and U+FFFF */
}

static int skip_blanks(Reader *reader) {
    const char *begin = reader->at;
    for (;; reader->at++) {
        if (*reader->at == '\n')
            reader->line++;
        else if (*reader->at != ' ' && *reader->at != '\t')
            return reader->at > begin;
    }
}

static Py_ssize_t name_at(Reader *reader) {
    const char *begin = reader->at;
    if (!is_letter(*begin))
        return 0;
    while (is_name(*reader->at))
        reader->at++;
    return reader->at - begin;
}

/* Behind "<!--", up to and with the end of a comment. */
static int skip_comment(Reader *reader) {
    for (;; reader->at++) {
        char c = *reader->at;
        if (c == '\n')
            reader->line++;
        else if (c == '-' && reader->at[1] == '-') {
            if (reader->at[2] != '>')
                return UNUSUAL;
            reader->at += 3;
            return FINE;
        } else if (c != '\t' && c != '&' && is_odd(c))
            return UNUSUAL;
    }
}

/* Text between tags, up to the next one or to the end. */
static int skip_text(Reader *reader) {
    for (;; reader->at++) {
        char c = *reader->at;
        if (c == '\n')
            reader->line++;
        else if (c == '<' || c == '\0')
            return FINE;
        else if (c == ']' || (c != '\t' && is_odd(c)))
            return UNUSUAL;
    }
}

/* A value in quotes; NULL with *length UNUSUAL where it is not plain. */
static const char *value_at(Reader *reader, Py_ssize_t *length) {
    const char quote = *reader->at, *begin = reader->at + 1;
    *length = UNUSUAL;
    if (quote != '"' && quote != '\'')
        return NULL;
    for (reader->at++; *reader->at != quote; reader->at++)
        if (*reader->at == '<' || is_odd(*reader->at))
            return NULL;
    *length = reader->at - begin;
    reader->at++;
    return *length <= MAX_VALUE ? begin : NULL;
}

static PyObject *interned(const char *text, Py_ssize_t length) {
    PyObject *found = PyUnicode_FromStringAndSize(text, length);
    if (found != NULL)
        PyUnicode_InternInPlace(&found);
    return found;
}

static int add_attribute(PyObject *attributes, const char *name, Py_ssize_t size, const char *value, Py_ssize_t length) {
    PyObject *key = interned(name, size), *text = key ? PyUnicode_FromStringAndSize(value, length) : NULL;
    int result = FAILED;
    if (text != NULL) {
        Py_ssize_t before = PyDict_GET_SIZE(attributes);
        if (PyDict_SetItem(attributes, key, text) == 0)
            result = PyDict_GET_SIZE(attributes) > before ? FINE : UNUSUAL; /* given twice */
    }
    Py_XDECREF(key);
    Py_XDECREF(text);
    return result;
}

/* All attributes of a tag, up to ">" or "/>". */
static int read_attributes(Reader *reader, PyObject *attributes) {
    for (int count = 0;; count++) {
        int apart = skip_blanks(reader);
        if (*reader->at == '>' || *reader->at == '/')
            return FINE;
        const char *name = reader->at, *value;
        Py_ssize_t size = apart && count < MAX_ATTRIBUTES ? name_at(reader) : 0, length;
        if (size == 0)
            return UNUSUAL;
        skip_blanks(reader);
        if (*reader->at != '=')
            return UNUSUAL;
        reader->at++;
        skip_blanks(reader);
        value = value_at(reader, &length);
        if (value == NULL)
            return UNUSUAL;
        int result = add_attribute(attributes, name, size, value, length);
        if (result != FINE)
            return result;
    }
}

/* An element, as Element.__init__ of formats/xml.py makes it. */
static PyObject *new_element(const Tree *tree, const char *name, Py_ssize_t size, PyObject *attributes, long line) {
    PyTypeObject *type = (PyTypeObject *)tree->element;
    PyObject *made = type->tp_alloc(type, 0);
    PyObject *values[FIELDS] = {interned(name, size), Py_NewRef(attributes),     PyList_New(0),
                                PyLong_FromLong(line), Py_NewRef(tree->source), Py_NewRef(tree->notes),
                                PyUnicode_New(0, 0)};
    int fine = made != NULL;
    for (int k = 0; k < FIELDS; k++) {
        fine = fine && values[k] != NULL && PyObject_SetAttr(made, tree->names[k], values[k]) == 0;
        Py_XDECREF(values[k]);
    }
    if (!fine)
        Py_CLEAR(made);
    return made;
}

/* Hang an element into the tree, and go into it unless it ends at once. The reference is taken. */
static int place(Tree *tree, PyObject *element, const char *name, Py_ssize_t size, int ends) {
    int result = FINE;
    if (tree->depth == 0)
        tree->root = Py_NewRef(element);
    else if (PyList_Append(tree->open[tree->depth - 1].children, element) < 0)
        result = FAILED;
    if (result == FINE && !ends) {
        PyObject *children = PyObject_GetAttr(element, tree->names[CHILDREN]);
        if (children == NULL || !PyList_Check(children))
            result = FAILED;
        else
            tree->open[tree->depth++] = (Open){children, name, size};
        Py_XDECREF(children); /* the element holds it, and the tree the element */
    }
    Py_DECREF(element);
    return result;
}

/* Behind "<": a whole start tag. */
static int read_start(Reader *reader, Tree *tree) {
    const char *name = reader->at;
    long line = reader->line;
    Py_ssize_t size = name_at(reader);
    if (size == 0 || tree->depth >= MAX_DEPTH)
        return UNUSUAL;
    PyObject *attributes = PyDict_New(), *element = NULL;
    if (attributes == NULL)
        return FAILED;
    int result = read_attributes(reader, attributes), ends = 0;
    if (result == FINE) {
        ends = *reader->at == '/';
        reader->at += ends;
        if (*reader->at != '>')
            result = UNUSUAL;
        else
            reader->at++;
    }
    if (result == FINE) {
        element = new_element(tree, name, size, attributes, line);
        result = element == NULL ? FAILED : place(tree, element, name, size, ends);
    }
    Py_DECREF(attributes);
    return result;
}

/* Behind "</": the rest of an end tag, which has to be that of the innermost element. */
static int read_end(Reader *reader, Tree *tree) {
    const Open *last = &tree->open[tree->depth - 1];
    if (strncmp(reader->at, last->name, (size_t)last->length) != 0)
        return UNUSUAL;
    reader->at += last->length;
    skip_blanks(reader);
    if (*reader->at != '>')
        return UNUSUAL;
    reader->at++;
    tree->depth--;
    return FINE;
}

/* Behind the first "<": the root and all that is in it. */
static int read_root(Reader *reader, Tree *tree) {
    int result = read_start(reader, tree);
    while (result == FINE && tree->depth > 0) {
        result = skip_text(reader);
        if (result != FINE || *reader->at != '<')
            return UNUSUAL;
        reader->at++;
        if (*reader->at == '/') {
            reader->at++;
            result = read_end(reader, tree);
        } else if (strncmp(reader->at, "!--", 3) == 0) {
            reader->at += 3;
            result = skip_comment(reader);
        } else
            result = read_start(reader, tree);
    }
    return result;
}

/* Blanks and comments outside the root. */
static int skip_misc(Reader *reader) {
    for (;;) {
        skip_blanks(reader);
        if (strncmp(reader->at, "<!--", 4) != 0)
            return FINE;
        reader->at += 4;
        if (skip_comment(reader) != FINE)
            return UNUSUAL;
    }
}

/* <?xml version="1.0"?> with an encoding, which means nothing here, or without. */
static int skip_declaration(Reader *reader) {
    static const char *const begins = "<?xml version=\"1.0\"";
    Py_ssize_t length = 1;
    if (strncmp(reader->at, "<?xml", 5) != 0)
        return FINE;
    if (strncmp(reader->at, begins, strlen(begins)) != 0)
        return UNUSUAL;
    reader->at += strlen(begins);
    if (skip_blanks(reader) && strncmp(reader->at, "encoding=", 9) == 0) {
        const char *name, *end;
        reader->at += 9;
        name = value_at(reader, &length);
        end = name == NULL ? NULL : name + length;
        if (name == NULL || length == 0 || *name == ':' || *name == '_' || !is_letter(*name))
            return UNUSUAL;
        for (; name < end; name++)
            if (!is_name(*name) || *name == ':')
                return UNUSUAL;
        skip_blanks(reader);
    }
    if (strncmp(reader->at, "?>", 2) != 0)
        return UNUSUAL;
    reader->at += 2;
    return FINE;
}

static int read_document(Reader *reader, Tree *tree) {
    if (skip_declaration(reader) != FINE || skip_misc(reader) != FINE || *reader->at != '<')
        return UNUSUAL;
    reader->at++;
    int result = read_root(reader, tree);
    return result == FINE ? skip_misc(reader) : result;
}

static PyObject *tree_of(PyObject *self, PyObject *arguments) {
    PyObject *document;
    Tree tree = {0};
    if (!PyArg_ParseTuple(arguments, "SOOO", &document, &tree.element, &tree.source, &tree.notes))
        return NULL;
    if (!PyType_Check(tree.element))
        return PyErr_Format(PyExc_TypeError, "element must be a class");
    const char *text = PyBytes_AS_STRING(document);
    Reader reader = {text, 1};
    int result = FINE;
    for (int k = 0; k < FIELDS; k++)
        if ((tree.names[k] = PyUnicode_InternFromString(NAMES[k])) == NULL)
            result = FAILED;
    if (result == FINE)
        result = read_document(&reader, &tree);
    for (int k = 0; k < FIELDS; k++)
        Py_XDECREF(tree.names[k]);
    if (result == FINE && reader.at == text + PyBytes_GET_SIZE(document))
        return tree.root;
    Py_XDECREF(tree.root);
    if (result == FAILED)
        return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(TREE_DOC, "tree(document, element, source, notes)\n--\n\n"
                       "The root of a plain document in UTF-8, made of the class element, which has slots tag, "
                       "attributes, children, line, source, notes, text; None for a document that is not plain.");

static PyMethodDef METHODS[] = {{"tree", tree_of, METH_VARARGS, TREE_DOC}, {NULL, NULL, 0, NULL}};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_xml", "Trees of plain XML documents.", 0, METHODS,
                                    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__xml(void) { return PyModule_Create(&MODULE); }
