/* XML documents as elements: as formats/xml_nodes.py has it, in half the time. The text is read by expat, the one that
 * Python's own pyexpat has and hands to other modules; what it finds becomes Python's objects here. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <structmember.h>

PyObject *read_outline(PyObject *module, PyObject *args); /* _outline.c */

static PyTypeObject NodeType;
static PyObject *nothing, *none, *expat_error; /* "", (), pyexpat.ExpatError */
static Py_hash_t salt;

/* ---- elements ---------------------------------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    PyObject *tag, *attributes, *children, *line, *source, *notes, *text;
} Node;

static int node_traverse(Node *self, visitproc visit, void *arg)
{
    Py_VISIT(self->attributes);
    Py_VISIT(self->children);
    Py_VISIT(self->source);
    Py_VISIT(self->notes);
    return 0;
}

static int node_clear(Node *self)
{
    Py_CLEAR(self->tag);
    Py_CLEAR(self->attributes);
    Py_CLEAR(self->children);
    Py_CLEAR(self->line);
    Py_CLEAR(self->source);
    Py_CLEAR(self->notes);
    Py_CLEAR(self->text);
    return 0;
}

static void node_dealloc(Node *self)
{
    PyObject_GC_UnTrack(self);
    Py_TRASHCAN_BEGIN(self, node_dealloc)
    node_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
    Py_TRASHCAN_END
}

static void put(PyObject **place, PyObject *value)
{
    Py_INCREF(value);
    Py_XSETREF(*place, value);
}

static int fill(Node *self, PyObject *tag, PyObject *attributes, PyObject *line, PyObject *source, PyObject *notes)
{
    put(&self->children, none); /* most have none: the list comes with the first */
    put(&self->tag, tag);
    put(&self->attributes, attributes);
    put(&self->line, line);
    put(&self->source, source);
    put(&self->notes, notes);
    put(&self->text, nothing);
    return 0;
}

static int node_init(Node *self, PyObject *args, PyObject *names)
{
    static char *keywords[] = {"tag", "attributes", "line", "source", "notes", NULL};
    PyObject *tag, *attributes, *line, *source, *notes;
    if (!PyArg_ParseTupleAndKeywords(args, names, "OOOOO", keywords, &tag, &attributes, &line, &source, &notes))
        return -1;
    return fill(self, tag, attributes, line, source, notes);
}

static int add_child(Node *self, PyObject *child)
{
    if (self->children != NULL && PyList_CheckExact(self->children))
        return PyList_Append(self->children, child);
    PyObject *list = self->children == NULL ? PyList_New(0) : PySequence_List(self->children);
    if (list == NULL || PyList_Append(list, child) < 0) {
        Py_XDECREF(list);
        return -1;
    }
    Py_XSETREF(self->children, list);
    return 0;
}

static PyObject *node_add(Node *self, PyObject *child)
{
    if (add_child(self, child) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *node_parts(Node *self, PyObject *unused)
{
    PyObject *found = PyDict_New();
    PyObject *children = PySequence_Fast(self->children == NULL ? none : self->children, "children are a sequence");
    (void)unused;
    for (Py_ssize_t k = children == NULL ? 0 : PySequence_Fast_GET_SIZE(children); found != NULL && k-- > 0;) {
        PyObject *child = PySequence_Fast_GET_ITEM(children, k); /* tags are strings: nothing runs in between */
        PyObject *tag = PyObject_TypeCheck(child, &NodeType) ? ((Node *)child)->tag : NULL;
        if (tag == NULL || !PyUnicode_CheckExact(tag) || PyDict_SetItem(found, tag, child) < 0) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_TypeError, "the children of an element are elements");
            Py_CLEAR(found);
        }
    }
    if (children == NULL)
        Py_CLEAR(found);
    Py_XDECREF(children);
    return found;
}

static PyMethodDef node_methods[] = {
    {"add", (PyCFunction)node_add, METH_O, "One more child."},
    {"parts", (PyCFunction)node_parts, METH_NOARGS, "The children by tag; of those with the same tag the first."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef node_members[] = {{"tag", T_OBJECT_EX, offsetof(Node, tag), 0, NULL},
                                     {"attributes", T_OBJECT_EX, offsetof(Node, attributes), 0, NULL},
                                     {"children", T_OBJECT_EX, offsetof(Node, children), 0, NULL},
                                     {"line", T_OBJECT_EX, offsetof(Node, line), 0, NULL},
                                     {"source", T_OBJECT_EX, offsetof(Node, source), 0, NULL},
                                     {"notes", T_OBJECT_EX, offsetof(Node, notes), 0, NULL},
                                     {"text", T_OBJECT_EX, offsetof(Node, text), 0, NULL},
                                     {NULL, 0, 0, 0, NULL}};

static PyTypeObject NodeType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "recursa._elements.Node",
    .tp_doc = "An element: tag, attributes, line, source, notes; children and text are empty at first.",
    .tp_basicsize = sizeof(Node),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)node_init,
    .tp_dealloc = (destructor)node_dealloc,
    .tp_traverse = (traverseproc)node_traverse,
    .tp_clear = (inquiry)node_clear,
    .tp_members = node_members,
    .tp_methods = node_methods,
};

/* ---- expat ----------------------------------------------------------------------------------------------------------
 * The functions that pyexpat hands over, as its header declares them; that one needs expat's, which may not be there. */

#define MAGIC "pyexpat.expat_CAPI 1.1"

typedef void *Parser;
typedef void (*Started)(void *, const char *, const char **);
typedef void (*Ended)(void *, const char *);
typedef void (*Characters)(void *, const char *, int);
typedef void (*Doctype)(void *, const char *, const char *, const char *, int);
typedef void (*Unused)(void);

typedef struct {
    char *magic;
    int size, major, minor, micro;
    const char *(*error_string)(int);
    int (*error_code)(Parser);
    unsigned long (*column)(Parser), (*line)(Parser);
    int (*parse)(Parser, const char *, int, int);
    Parser (*create)(const char *, const void *, const char *);
    void (*destroy)(Parser);
    void (*set_characters)(Parser, Characters);
    Unused set_comment, set_default;
    void (*set_elements)(Parser, Started, Ended);
    Unused set_namespaces, set_instructions, set_unknown_encoding;
    void (*set_user_data)(Parser, void *);
    void (*set_doctype)(Parser, Doctype);
    Unused set_encoding, unknown_encoding;
    int (*set_hash_salt)(Parser, unsigned long);
} Expat;

static const Expat *expat;

/* ---- reading ----------------------------------------------------------------------------------------------------- */

#define WORDS 256 /* remembered at a time; a power of two */

typedef struct {
    Parser parser;
    PyObject *remembered[WORDS];             /* words that were met, by what their letters add up to */
    PyTypeObject *kind;                      /* of elements */
    PyObject *open, *check, *doctype, *passed; /* borrowed */
    PyObject *source, *notes;
    PyObject *words;              /* tags and names of attributes, each once; "" for a value that begins with a blank */
    Py_ssize_t depth, attributes; /* beyond these an element is checked */
    Py_ssize_t inside;            /* how many elements are open of which nothing is kept */
    int always, failed;           /* failed: an exception is set, nothing more is done */
} Reading;

/* The same object for the same word, which `words` has then; a new reference. Documents have few different ones. */
static PyObject *word(PyObject **remembered, PyObject *words, const char *text)
{
    uint32_t sum = 2166136261u; /* Fowler, Noll, Vo */
    for (const char *one = text; *one; one++)
        sum = (sum ^ (unsigned char)*one) * 16777619u;
    PyObject **place = &remembered[sum % WORDS];
    const char *there = *place == NULL ? NULL : PyUnicode_AsUTF8(*place);
    if (there != NULL && strcmp(there, text) == 0)
        return Py_NewRef(*place);
    PyObject *made = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "strict");
    PyObject *kept = made == NULL ? NULL : PyDict_SetDefault(words, made, made);
    Py_XINCREF(kept);
    Py_XDECREF(made);
    if (kept != NULL) {
        Py_INCREF(kept);
        Py_XSETREF(*place, kept);
    }
    return kept;
}

static void forget(PyObject **remembered)
{
    for (size_t k = 0; k < WORDS; k++)
        Py_CLEAR(remembered[k]);
}

static PyObject *dictionary(Reading *self, const char **given)
{
    PyObject *made = PyDict_New();
    for (; made != NULL && *given != NULL; given += 2) {
        PyObject *name = word(self->remembered, self->words, given[0]);
        PyObject *value = name == NULL ? NULL : PyUnicode_DecodeUTF8(given[1], (Py_ssize_t)strlen(given[1]), "strict");
        int blank = (unsigned char)given[1][0] <= ' '; /* or it is empty */
        if (value == NULL || PyDict_SetItem(made, name, value) < 0 ||
            (blank && PyDict_SetItem(self->words, nothing, nothing) < 0))
            Py_CLEAR(made);
        Py_XDECREF(name);
        Py_XDECREF(value);
    }
    return made;
}

/* The element that is open, borrowed; an error if there is none. */
static Node *innermost(Reading *self)
{
    Py_ssize_t size = PyList_GET_SIZE(self->open);
    PyObject *last = size ? PyList_GET_ITEM(self->open, size - 1) : NULL;
    if (last == NULL || !PyObject_TypeCheck(last, &NodeType)) {
        PyErr_SetString(PyExc_RuntimeError, "no element is open");
        return NULL;
    }
    return (Node *)last;
}

static int checked(Reading *self, PyObject *node)
{
    PyObject *said = PyObject_CallFunctionObjArgs(self->check, node, NULL);
    Py_XDECREF(said);
    return said == NULL ? -1 : 0;
}

static int begun(Reading *self, PyObject *tag, const char **given, int beyond)
{
    Node *parent = innermost(self);
    PyObject *attributes = parent == NULL ? NULL : dictionary(self, given);
    PyObject *line = attributes == NULL ? NULL : PyLong_FromUnsignedLong(expat->line(self->parser));
    Node *node = line == NULL ? NULL : (Node *)self->kind->tp_alloc(self->kind, 0);
    int done = -1;
    if (node != NULL && fill(node, tag, attributes, line, self->source, self->notes) == 0 &&
        add_child(parent, (PyObject *)node) == 0 && PyList_Append(self->open, (PyObject *)node) == 0)
        done = beyond ? checked(self, (PyObject *)node) : 0;
    Py_XDECREF(node);
    Py_XDECREF(line);
    Py_XDECREF(attributes);
    return done;
}

static void on_start(void *user, const char *name, const char **given)
{
    Reading *self = user;
    if (self->failed)
        return;
    Py_ssize_t count = 0, open = PyList_GET_SIZE(self->open) + self->inside;
    while (given[2 * count] != NULL)
        count++;
    int beyond = self->always || open >= self->depth || count > self->attributes;
    if (self->inside > 0) {
        self->inside++;
        self->failed = beyond && checked(self, Py_None) < 0;
        return;
    }
    PyObject *tag = word(self->remembered, self->words, name);
    int passed = tag == NULL ? -1 : open == 2 ? PySet_Contains(self->passed, tag) : 0;
    if (passed > 0) {
        self->inside = 1;
        self->failed = beyond && checked(self, Py_None) < 0;
    } else
        self->failed = passed < 0 || begun(self, tag, given, beyond) < 0;
    Py_XDECREF(tag);
}

static void on_end(void *user, const char *name)
{
    Reading *self = user;
    (void)name;
    if (self->failed)
        return;
    Py_ssize_t size = PyList_GET_SIZE(self->open);
    if (self->inside > 0)
        self->inside--;
    else
        self->failed = innermost(self) == NULL || PyList_SetSlice(self->open, size - 1, size, NULL) < 0;
}

static void on_characters(void *user, const char *text, int length)
{
    Reading *self = user;
    if (self->failed || self->inside > 0)
        return;
    Node *node = innermost(self);
    PyObject *more = node == NULL ? NULL : PyUnicode_DecodeUTF8(text, length, "strict");
    if (more != NULL && node->text != NULL)
        PyUnicode_Append(&node->text, more);
    Py_XDECREF(more);
    self->failed = more == NULL || node->text == NULL;
}

static void on_doctype(void *user, const char *name, const char *system, const char *public, int internal)
{
    Reading *self = user;
    (void)name, (void)system, (void)public, (void)internal;
    if (self->failed)
        return;
    PyObject *said = PyObject_CallFunction(self->doctype, "k", expat->line(self->parser));
    self->failed = said == NULL;
    Py_XDECREF(said);
}

/* pyexpat.ExpatError with what the parser says. */
static void set_error(Reading *self)
{
    int code = expat->error_code(self->parser);
    PyObject *error = PyObject_CallFunction(expat_error, "s", expat->error_string(code));
    PyObject *number = error == NULL ? NULL : PyLong_FromLong(code);
    PyObject *line = number == NULL ? NULL : PyLong_FromUnsignedLong(expat->line(self->parser));
    if (line != NULL && PyObject_SetAttrString(error, "code", number) == 0 &&
        PyObject_SetAttrString(error, "lineno", line) == 0)
        PyErr_SetObject(expat_error, error);
    Py_XDECREF(line);
    Py_XDECREF(number);
    Py_XDECREF(error);
}

static int parsed(Reading *self, const char *text, Py_ssize_t size, Py_ssize_t chunk)
{
    for (Py_ssize_t at = 0;; at += chunk) { /* expat reads on to the end of a chunk after something has failed */
        int last = size - at <= chunk;
        int fine = expat->parse(self->parser, text + at, (int)(last ? size - at : chunk), last);
        if (self->failed)
            return -1;
        if (!fine) {
            set_error(self);
            return -1;
        }
        if (last)
            return 0;
    }
}

static PyObject *read_elements(PyObject *module, PyObject *args, PyObject *names)
{
    static char *keywords[] = {"document", "kind", "open", "check", "doctype", "depth", "attributes",
                               "always", "passed", "with_text", "chunk", "words", NULL};
    Reading self = {0};
    PyObject *document, *kind;
    Py_ssize_t chunk;
    int with_text;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, names, "SO!O!OOnnpO!pnO!", keywords, &document, &PyType_Type, &kind,
                                     &PyList_Type, &self.open, &self.check, &self.doctype, &self.depth,
                                     &self.attributes, &self.always, &PyFrozenSet_Type, &self.passed, &with_text,
                                     &chunk, &PyDict_Type, &self.words))
        return NULL;
    PyObject *first = PyList_GET_SIZE(self.open) == 1 ? PyList_GET_ITEM(self.open, 0) : NULL;
    if (!PyType_IsSubtype((PyTypeObject *)kind, &NodeType) || first == NULL || !PyObject_TypeCheck(first, &NodeType) ||
        chunk < 1 || chunk > INT_MAX) {
        PyErr_SetString(PyExc_TypeError, "open must be a list of one element, kind the type of elements, chunk a size");
        return NULL;
    }
    self.kind = (PyTypeObject *)kind;
    self.source = Py_XNewRef(((Node *)first)->source);
    self.notes = Py_XNewRef(((Node *)first)->notes);
    self.parser = expat->create("utf-8", NULL, NULL);
    int done = -1;
    if (self.parser != NULL) {
        if (expat->set_hash_salt != NULL)
            expat->set_hash_salt(self.parser, (unsigned long)salt);
        expat->set_user_data(self.parser, &self);
        expat->set_elements(self.parser, on_start, on_end);
        expat->set_doctype(self.parser, on_doctype);
        if (with_text)
            expat->set_characters(self.parser, on_characters);
        done = parsed(&self, PyBytes_AS_STRING(document), PyBytes_GET_SIZE(document), chunk);
        expat->destroy(self.parser);
    } else if (!PyErr_Occurred())
        PyErr_NoMemory();
    forget(self.remembered);
    Py_XDECREF(self.notes);
    Py_XDECREF(self.source);
    if (done < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"read_elements", (PyCFunction)(void (*)(void))read_elements, METH_VARARGS | METH_KEYWORDS,
     "Elements of a document, put into those around them; see formats/xml_nodes.py."},
    {"read_outline", read_outline, METH_VARARGS, "What words a document has, and where; see formats/xml_nodes.py."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_elements", "Elements of XML documents.", -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__elements(void)
{
    expat = PyCapsule_Import("pyexpat.expat_CAPI", 0);
    if (expat == NULL)
        return NULL;
    if (strcmp(expat->magic, MAGIC) != 0 || (size_t)expat->size < sizeof(Expat)) {
        PyErr_SetString(PyExc_ImportError, "this Python's expat is another one");
        return NULL;
    }
    PyObject *pyexpat = PyImport_ImportModule("pyexpat");
    if (pyexpat == NULL)
        return NULL;
    expat_error = PyObject_GetAttrString(pyexpat, "ExpatError");
    Py_DECREF(pyexpat);
    nothing = PyUnicode_InternFromString("");
    none = PyTuple_New(0);
    PyObject *secret = PyUnicode_FromString("recursa"); /* whose hash differs from process to process */
    if (secret != NULL)
        salt = PyObject_Hash(secret);
    Py_XDECREF(secret);
    if (expat_error == NULL || nothing == NULL || none == NULL || secret == NULL || PyType_Ready(&NodeType) < 0)
        return NULL;
    PyObject *m = PyModule_Create(&module);
    if (m != NULL && PyModule_AddObjectRef(m, "Node", (PyObject *)&NodeType) < 0)
        Py_CLEAR(m);
    return m;
}
