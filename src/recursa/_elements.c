/* Elements of XML documents, and what expat calls at their tags: as formats/xml_nodes.py has it, in a third of the time.
 * Everything comes from pyexpat as Python's own objects; of the text itself only line ends are looked for. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <string.h>
#include <structmember.h>

static PyObject *name_line, *name_index, *nothing, *none; /* "CurrentLineNumber", "CurrentByteIndex", "", () */

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

static PyMethodDef node_methods[] = {{"add", (PyCFunction)node_add, METH_O, "One more child."}, {NULL, NULL, 0, NULL}};

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

/* ---- handlers ---------------------------------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    PyTypeObject *kind; /* of elements */
    PyObject *parser, *source, *notes, *open, *check;
    PyObject *document, *passed; /* bytes in which to count lines, or None; a set of tags */
    Py_ssize_t depth, attributes; /* beyond these the element is checked */
    Py_ssize_t at, line;          /* the line of a place in the document */
    Py_ssize_t inside;            /* how many elements are open of which nothing is kept */
    int always;
} Handlers;

static int handlers_traverse(Handlers *self, visitproc visit, void *arg)
{
    Py_VISIT(self->kind);
    Py_VISIT(self->parser);
    Py_VISIT(self->source);
    Py_VISIT(self->notes);
    Py_VISIT(self->open);
    Py_VISIT(self->check);
    Py_VISIT(self->document);
    Py_VISIT(self->passed);
    return 0;
}

static int handlers_clear(Handlers *self)
{
    Py_CLEAR(self->kind);
    Py_CLEAR(self->parser);
    Py_CLEAR(self->source);
    Py_CLEAR(self->notes);
    Py_CLEAR(self->open);
    Py_CLEAR(self->check);
    Py_CLEAR(self->document);
    Py_CLEAR(self->passed);
    return 0;
}

static void handlers_dealloc(Handlers *self)
{
    PyObject_GC_UnTrack(self);
    handlers_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static int handlers_init(Handlers *self, PyObject *args, PyObject *names)
{
    static char *keywords[] = {"kind", "parser", "open", "check", "depth", "attributes", "always",
                               "document", "passed", NULL};
    PyObject *kind, *parser, *open, *check, *document, *passed;
    Py_ssize_t depth, attributes;
    int always;
    if (!PyArg_ParseTupleAndKeywords(args, names, "O!OO!OnnpOO!", keywords, &PyType_Type, &kind, &parser, &PyList_Type,
                                     &open, &check, &depth, &attributes, &always, &document, &PyFrozenSet_Type,
                                     &passed))
        return -1;
    PyObject *first = PyList_GET_SIZE(open) == 1 ? PyList_GET_ITEM(open, 0) : NULL;
    if (!PyType_IsSubtype((PyTypeObject *)kind, &NodeType) || first == NULL || !PyObject_TypeCheck(first, &NodeType)) {
        PyErr_SetString(PyExc_TypeError, "open must be a list of one element, and kind the type of elements");
        return -1;
    }
    put((PyObject **)&self->kind, kind);
    put(&self->parser, parser);
    put(&self->source, ((Node *)first)->source);
    put(&self->notes, ((Node *)first)->notes);
    put(&self->open, open);
    put(&self->check, check);
    put(&self->document, document);
    put(&self->passed, passed);
    self->at = self->inside = 0;
    self->line = 1;
    self->depth = depth;
    self->attributes = attributes;
    self->always = always;
    return 0;
}

/* The element that is open, borrowed; an error if there is none. */
static Node *innermost(Handlers *self)
{
    Py_ssize_t size = self->open == NULL ? 0 : PyList_GET_SIZE(self->open);
    PyObject *last = size ? PyList_GET_ITEM(self->open, size - 1) : NULL;
    if (last == NULL || !PyObject_TypeCheck(last, &NodeType)) {
        PyErr_SetString(PyExc_RuntimeError, "no element is open");
        return NULL;
    }
    return (Node *)last;
}

/* The line of the tag that is read: line ends counted on from the one before, or as expat says. */
static PyObject *line_now(Handlers *self)
{
    if (self->document == NULL || !PyBytes_CheckExact(self->document))
        return PyObject_GetAttr(self->parser, name_line);
    PyObject *index = PyObject_GetAttr(self->parser, name_index);
    Py_ssize_t to = index == NULL ? -1 : PyLong_AsSsize_t(index);
    Py_XDECREF(index);
    if (to == -1 && PyErr_Occurred())
        return NULL;
    if (to < self->at || to > PyBytes_GET_SIZE(self->document)) {
        PyErr_SetString(PyExc_RuntimeError, "the parser reads another document");
        return NULL;
    }
    const char *text = PyBytes_AS_STRING(self->document), *end = text + to, *found = text + self->at;
    while ((found = memchr(found, '\n', (size_t)(end - found))) != NULL) {
        self->line++;
        found++;
    }
    self->at = to;
    return PyLong_FromSsize_t(self->line);
}

static PyObject *checked(Handlers *self, PyObject *node)
{
    return PyObject_CallFunctionObjArgs(self->check, node, NULL);
}

static PyObject *start(Handlers *self, PyObject *const *args, Py_ssize_t count)
{
    Node *parent = innermost(self);
    if (parent == NULL)
        return NULL;
    if (count != 2 || !PyDict_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "start needs a tag and attributes");
        return NULL;
    }
    Py_ssize_t open = PyList_GET_SIZE(self->open) + self->inside;
    int beyond = self->always || open >= self->depth || PyDict_GET_SIZE(args[1]) > self->attributes;
    int passed = self->inside > 0 ? 1 : open == 2 ? PySet_Contains(self->passed, args[0]) : 0;
    if (passed != 0) {
        self->inside += passed > 0;
        return passed < 0 ? NULL : beyond ? checked(self, Py_None) : Py_NewRef(Py_None);
    }
    PyObject *line = line_now(self);
    if (line == NULL)
        return NULL;
    Node *node = (Node *)self->kind->tp_alloc(self->kind, 0);
    int made = node != NULL && fill(node, args[0], args[1], line, self->source, self->notes) == 0;
    Py_DECREF(line);
    if (!made || add_child(parent, (PyObject *)node) < 0 || PyList_Append(self->open, (PyObject *)node) < 0) {
        Py_XDECREF(node);
        return NULL;
    }
    PyObject *found = beyond ? checked(self, (PyObject *)node) : Py_NewRef(Py_None);
    Py_DECREF(node);
    return found;
}

static PyObject *end(Handlers *self, PyObject *tag)
{
    (void)tag;
    if (innermost(self) == NULL)
        return NULL;
    if (self->inside > 0) {
        self->inside--;
        Py_RETURN_NONE;
    }
    Py_ssize_t size = PyList_GET_SIZE(self->open);
    if (PyList_SetSlice(self->open, size - 1, size, NULL) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *characters(Handlers *self, PyObject *text)
{
    Node *node = innermost(self);
    if (node == NULL)
        return NULL;
    if (self->inside > 0)
        Py_RETURN_NONE;
    PyObject *whole = PyUnicode_Concat(node->text == NULL ? nothing : node->text, text);
    if (whole == NULL)
        return NULL;
    Py_XSETREF(node->text, whole);
    Py_RETURN_NONE;
}

static PyMethodDef handlers_methods[] = {
    {"start", (PyCFunction)(void (*)(void))start, METH_FASTCALL, "An element begins."},
    {"end", (PyCFunction)end, METH_O, "It ends."},
    {"characters", (PyCFunction)characters, METH_O, "Text in the element that is open."},
    {NULL, NULL, 0, NULL}};

static PyTypeObject HandlersType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "recursa._elements.Handlers",
    .tp_doc = "What a parser calls at tags: elements of a kind are made, put into those around, and kept while open.",
    .tp_basicsize = sizeof(Handlers),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)handlers_init,
    .tp_dealloc = (destructor)handlers_dealloc,
    .tp_traverse = (traverseproc)handlers_traverse,
    .tp_clear = (inquiry)handlers_clear,
    .tp_methods = handlers_methods,
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_elements", "Elements of XML documents.", -1, NULL, NULL,
                                    NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__elements(void)
{
    name_line = PyUnicode_InternFromString("CurrentLineNumber");
    name_index = PyUnicode_InternFromString("CurrentByteIndex");
    nothing = PyUnicode_InternFromString("");
    none = PyTuple_New(0);
    if (name_line == NULL || name_index == NULL || nothing == NULL || none == NULL || PyType_Ready(&NodeType) < 0 || PyType_Ready(&HandlersType) < 0)
        return NULL;
    PyObject *m = PyModule_Create(&module);
    if (m != NULL && (PyModule_AddObjectRef(m, "Node", (PyObject *)&NodeType) < 0 ||
                      PyModule_AddObjectRef(m, "Handlers", (PyObject *)&HandlersType) < 0))
        Py_CLEAR(m);
    return m;
}
