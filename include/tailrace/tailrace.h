/* Tailrace: named distributed arrays to plain files, under a layout that is one line of configuration.
 *
 * This is the C contract: every binding sits on it and nothing else is public.
 *
 *   tailrace_stream *s;
 *   tailrace_open(comm, "out", "history", "layout = 'fpp'", &s);
 *   tailrace_define_dim(s, "lat", 180);
 *   tailrace_define_dim(s, "lon", 360);
 *   tailrace_define_var(s, "T", TAILRACE_F32, 2, (const char *[]){"lat", "lon"}, 0);
 *   tailrace_put_attr_text(s, "T", "units", "K");
 *   tailrace_begin_step(s, 3600.0);
 *   tailrace_put(s, "T", 1, &(tailrace_block){.data = t, .offset = off, .count = cnt});
 *   tailrace_end_step(s);
 *   tailrace_close(&s);
 *
 * Conventions
 *   status     every function returns TAILRACE_OK (0) or a tailrace_status. tailrace_error_message() says what went wrong, where,
 *              and how to mend it. A failed collective call has the same status and text on every rank.
 *   texts      end with a zero byte, as ever in C. C++, Fortran and Python refuse texts with one inside.
 *   collective every rank of the stream's communicator calls it, in the same order. Marked below; all others are local.
 *   memory     strings and arrays passed in are copied before the call returns, except the data of tailrace_put.
 *   shapes     slowest dimension first (C order); offsets and counts are in elements, strides in bytes.
 *   threads    one thread at a time per stream. Different threads may use different streams if MPI allows it. With ranks that
 *              only write, streams are used by the thread that called tailrace_set_aside.
 */
#ifndef TAILRACE_H
#define TAILRACE_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- constants and types ---------------------------------------------------------------------------------------------------- */

/* The version of this header; tailrace_version() is that of the library. */
#define TAILRACE_VERSION "0.1.0"
#define TAILRACE_MAX_DIMS 8 /* dimensions of a variable, the time dimension not counted */
/* The length of a dimension that has another length in every step (particles, observations). As an offset along it: the block
 * lies behind the blocks of lower ranks. */
#define TAILRACE_RAGGED UINT64_MAX

/* What functions return; docs/errors.md has a remedy for each. */
typedef enum tailrace_status {
#define TAILRACE_STATUS(name, number, text, python) TAILRACE_##name = (number),
#include <tailrace/status.def>
#undef TAILRACE_STATUS
    TAILRACE_STATUS_END /* one past the last */
} tailrace_status;

/* What the elements of a variable are. */
typedef enum tailrace_type {
#define TAILRACE_TYPE(name, number, bytes, c, numpy, fortran) TAILRACE_##name = (number),
#include <tailrace/types.def>
#undef TAILRACE_TYPE
    TAILRACE_TYPE_END
} tailrace_type;

/* The `flags` of a variable are a sum of these. 0: the ranks put their blocks of a new array in every step. */
typedef enum tailrace_var_flags {
    TAILRACE_STATIC = 1,     /* equal in all steps: put once, before or in the first step of each run; no time dimension */
    TAILRACE_REPLICATED = 2, /* every rank has the whole array (coordinates, scalars): put with tailrace_put_replicated */
} tailrace_var_flags;

/* A stream open for writing. */
typedef struct tailrace_stream tailrace_stream;

/* One hyperslab of a variable that this rank owns. */
typedef struct tailrace_block {
    const void *data;       /* the first element; stays unchanged until tailrace_end_step returns */
    const uint64_t *offset; /* [ndims] where the block starts in the global array */
    const uint64_t *count;  /* [ndims] its lengths; a length of 0 makes an empty block */
    const int64_t *stride;  /* [ndims] bytes from one element to the next in memory; NULL: dense, C order */
} tailrace_block;

/* ---- errors --------------------------------------------------------------------------------------------------------------- */

/* The message of the last failed call on this thread; "" if none has failed. Valid until the next call on this thread. */
const char *tailrace_error_message(void);
/* The name of a status, such as "BLOCK_OVERLAP"; "UNKNOWN" for other numbers. */
const char *tailrace_status_name(int status);
/* The version of the library that runs, such as "0.1.0". */
const char *tailrace_version(void);

/* ---- writing a stream ----------------------------------------------------------------------------------------------------- */

/* Collective. Opens stream `name` in `directory` (made if absent) for writing; an existing stream is appended to, after its last
 * complete step, unless the options say otherwise. With mode = 'replace' the first step removes the existing stream. With
 * mode = 'resume' its steps at or after the time of the first new step are dropped. resume_before = TIME implies that mode, and
 * drops the steps at or after TIME.
 * `options` is TOML, e.g. "layout = 'hds'\nsteps = 'all'", or NULL. The tables [stream.default] and [stream.NAME] of tailrace.toml
 * override it. Rank 0 reads that file in the working directory, or the file that TAILRACE_CONFIG names. The environment variables
 * TAILRACE_<KEY> and TAILRACE_<NAME>_<KEY> of rank 0 override both. `tailrace keys` lists the keys. `comm` is duplicated.
 * A failed call sets *stream, too: every call with that handle returns the error of the opening, and waits for no rank.
 * tailrace_close frees it. */
int tailrace_open(MPI_Comm comm, const char *directory, const char *name, const char *options, tailrace_stream **stream);
/* tailrace_open with a Fortran communicator handle. */
int tailrace_open_fortran(MPI_Fint comm, const char *directory, const char *name, const char *options, tailrace_stream **stream);

/* Ranks that only write, for streams with writers = dedicated:N. Collective over `all`, when the program starts. Sets `dedicated`
 * of its ranks aside, spread over the nodes: at least 1, at most half of them.
 * On the other ranks the call returns at once. *compute is their communicator, in the order of `all`; the model uses it in place
 * of `all`. On the ranks that are set aside the call returns after the others have called tailrace_release; *compute is then
 * MPI_COMM_NULL. Until then these ranks write. A stream with writers = dedicated:N is opened over *compute or a duplicate. Its
 * tailrace_end_step copies the step to memory that it shares with the writing rank of the node, or sends the step. With
 * `overlap` = 0 it waits until the step is committed; with `overlap` = N at most N steps are in flight. tailrace_flush waits for
 * all of them. Other streams over *compute are written by its own ranks. */
int tailrace_set_aside(MPI_Comm all, int dedicated, MPI_Comm *compute);
int tailrace_set_aside_fortran(MPI_Fint all, int dedicated, MPI_Fint *compute);
/* Collective over *compute, after its streams are closed. Ends tailrace_set_aside on the ranks that were set aside. Frees
 * *compute and sets it to MPI_COMM_NULL, even if the call fails. A thread other than that of tailrace_set_aside gets BAD_ORDER,
 * and nothing is done. Does nothing for MPI_COMM_NULL. MPI_Finalize calls tailrace_release if the program has not. */
int tailrace_release(MPI_Comm *compute);
int tailrace_release_fortran(MPI_Fint *compute);

/* Defines a dimension by its name and its global length. All ranks define the same ones in the same order; the first
 * tailrace_end_step compares them. `length` = TAILRACE_RAGGED: each step has as many elements along the dimension as the ranks
 * put. Needs steps = 1. A ragged dimension is the slowest one of variables that are neither static nor replicated. The offset of
 * a block along it is a global index or TAILRACE_RAGGED. The latter places the block behind those of lower ranks, and behind
 * those that this rank put before; each rank then puts equally many elements of all variables. The index shows the contiguous
 * ragged array of the CF conventions: the steps one after the other along the dimension, and the length of each step in
 * NAME_row_size(time). */
int tailrace_define_dim(tailrace_stream *stream, const char *name, uint64_t length);
/* Defines a variable over dimensions that were defined before; `flags` is a sum of tailrace_var_flags. The time dimension is
 * added in front of `dims` and not listed there. ndims = 0 (a scalar that may change per step) implies TAILRACE_REPLICATED. */
int tailrace_define_var(tailrace_stream *stream, const char *name, tailrace_type type, int ndims, const char *const *dims,
                        int flags);
/* Sets an attribute of a variable, or of the stream when `var` is NULL ("time" names the time coordinate). Numbers must be
 * finite, except in _FillValue and missing_value. A variable with a _FillValue may have gaps between its blocks. */
int tailrace_put_attr(tailrace_stream *stream, const char *var, const char *name, tailrace_type type, uint64_t count,
                      const void *values);
int tailrace_put_attr_text(tailrace_stream *stream, const char *var, const char *name, const char *text);
/* Sets an attribute that is a list of `count` texts, netCDF's NC_STRING. A list of one text is stored as that text. */
int tailrace_put_attr_texts(tailrace_stream *stream, const char *var, const char *name, uint64_t count, const char *const *texts);

/* Begins an output step at `time` (in the units of the time coordinate's attribute `units`). */
int tailrace_begin_step(tailrace_stream *stream, double time);
/* Hands over this rank's blocks of a distributed variable (0..n of them). Nothing is copied: the data of the blocks must stay
 * unchanged until tailrace_end_step returns. A variable without a put on this rank has no blocks here. tailrace_end_step returns
 * an error of this call again, on all ranks. */
int tailrace_put(tailrace_stream *stream, const char *var, int nblocks, const tailrace_block *blocks);
/* Hands over scattered elements of a distributed variable, as ranks of unstructured models own them: those at `count` indices of
 * the dimension `dim`, whole along all others. `indices` count from 0, in any order, and are copied. `data` is an array of the
 * variable's dimensions, with `count` in place of the length of `dim`: element i along it has the index indices[i]. `stride` is as
 * in tailrace_block. The data stays unchanged until tailrace_end_step returns. Each index belongs to one rank and one list, once;
 * blocks of the same variable are whole along the other dimensions. Before the step is written the ranks move the elements to
 * contiguous ranges, one for each rank. The plan for that is made again only when a list has changed. */
int tailrace_put_indices(tailrace_stream *stream, const char *var, const char *dim, uint64_t count, const uint64_t *indices,
                         const void *data, const int64_t *stride);
/* Hands over all elements of a replicated variable, dense in C order. They are copied before the call returns. */
int tailrace_put_replicated(tailrace_stream *stream, const char *var, const void *data);
/* Makes the step in progress fail: tailrace_end_step, which this rank still calls, returns `status` and `text` on all ranks. For a
 * rank that cannot make its data, and for bindings that find a mistake first. This call returns `status`, and `text` becomes this
 * thread's error message. With `stream` NULL, or outside a step, nothing else happens. */
int tailrace_refuse_step(tailrace_stream *stream, int status, const char *text);
/* Local, for the Fortran module. From now on, messages of this stream write indices as Fortran does: (1:4, 3) for [2, 0:4]. */
int tailrace_use_fortran_order(tailrace_stream *stream);
/* Collective. Writes and commits the step: afterwards the stream has the whole step, or the same error is returned on all ranks
 * and the stream has nothing of the step; earlier steps stay unchanged. The times continue in the direction of the first two: a
 * step whose time does not is BAD_ORDER. In the first step of a run, definitions and static arrays are compared with those of the
 * existing steps. What would change their meaning (types, shapes, units, fill values, packing, coordinates, masks) is refused.
 * With `overlap` > 0 it returns when the data is copied. A thread of each writing rank writes while the simulation computes. A
 * later tailrace_end_step, tailrace_flush or tailrace_close commits the step, once all ranks have written it. An error of the
 * thread is returned by these calls, on all ranks, until the stream is closed: the stream does not get that step and later ones. */
int tailrace_end_step(tailrace_stream *stream);
/* Collective, between steps. Waits until every step that tailrace_end_step has taken is committed. */
int tailrace_flush(tailrace_stream *stream);
/* Collective. Leaves the files as plain tools expect them, writes the index, frees the stream and sets *stream to NULL, even if
 * the call fails. A step that was begun and not ended is dropped: BAD_ORDER names it on all ranks, and the stream is closed all the
 * same. Static arrays that are put whole are written even if the stream has no step. If the program ends without this call,
 * MPI_Finalize writes the index, and rank 0 prints a line on standard error. */
int tailrace_close(tailrace_stream **stream);

/* Sets *steps to the number of the next step. It counts the steps that are committed or in flight, with those of earlier runs and
 * those that `keep` has removed. */
int tailrace_step_count(const tailrace_stream *stream, uint64_t *steps);
/* The layout that was requested and the one in force, the files, and the seconds of each stage on this rank, as JSON.
 * The text belongs to the stream and is valid until its next call. */
int tailrace_report(tailrace_stream *stream, const char **json);

/* ---- reading a stream back ------------------------------------------------------------------------------------------------ */
/* Reading works on any number of ranks, whatever layout, rank count and decomposition the stream was written with: a restart.
 *
 *   tailrace_reader *r;
 *   tailrace_open_read(comm, "out", "restart", &r);            // selects the last committed step
 *   tailrace_get(r, "T", 1, &(tailrace_target){.data = t, .offset = off, .count = cnt});
 *   tailrace_close_read(&r);
 */
typedef struct tailrace_reader tailrace_reader;

/* One hyperslab of a variable, and where its elements go. */
typedef struct tailrace_target {
    void *data;             /* where the first element goes */
    const uint64_t *offset; /* [ndims] where the hyperslab starts in the global array */
    const uint64_t *count;  /* [ndims] its lengths */
    const int64_t *stride;  /* [ndims] bytes from one element to the next in memory; NULL: dense, C order */
} tailrace_target;

/* Collective. Opens a stream to read the steps that are committed now, and selects the last one. Open it again to see what a
 * running model commits later. One rank reads the journal, once. */
int tailrace_open_read(MPI_Comm comm, const char *directory, const char *name, tailrace_reader **reader);
int tailrace_open_read_fortran(MPI_Fint comm, const char *directory, const char *name, tailrace_reader **reader);
/* The numbers and times of the committed steps; the arrays belong to the reader. Each pointer may be NULL. */
int tailrace_get_steps(tailrace_reader *reader, uint64_t *count, const uint64_t **steps, const double **times);
/* Collective. Selects the step to read from now on, by its number; -1 is the last one, -2 the one before. */
int tailrace_select_step(tailrace_reader *reader, int64_t step);
/* Returns a variable's type, number of dimensions, and shape in the selected step, without the time dimension. Each pointer may be
 * NULL; `shape` has room for TAILRACE_MAX_DIMS numbers. `flags` is a sum of tailrace_var_flags. */
int tailrace_inquire_var(tailrace_reader *reader, const char *var, tailrace_type *type, int *ndims, uint64_t *shape, int *flags);
/* Describes the whole stream as JSON: steps, times, dimensions, variables, attributes. The text is valid until the reader's next
 * call. An attribute is {"name", "text"}; {"name", "text", "texts"} if it is a list of texts; or {"name", "type", "hex"}: the
 * bytes of its numbers, in this machine's byte order. */
int tailrace_inquire(tailrace_reader *reader, const char **json);
/* Local. With `on` != 0, tailrace_get and tailrace_get_shared compare what they read with the stored checksums; by default they do
 * not. They return TAILRACE_CORRUPT, and say which bytes are damaged; TAILRACE_UNSUPPORTED if the part has no checksums. Each
 * checksum covers a contiguous extent that one writer wrote, so the first read of an extent reads all of it. */
int tailrace_verify_reads(tailrace_reader *reader, int on);
/* Local: ranks read what they need, in any order. Reads hyperslabs of a variable at the selected step into memory, without
 * converting the type. Elements that no rank wrote get the variable's _FillValue. A part that is missing, truncated or changed
 * is an error. */
int tailrace_get(tailrace_reader *reader, const char *var, int ntargets, const tailrace_target *targets);
/* Collective. Reads the elements at `count` indices of the dimension `dim`, as tailrace_put_indices hands them over. Each rank
 * reads a contiguous range, then the ranks exchange elements. A rank may want any number of indices, 0 too; several ranks may
 * want the same ones. */
int tailrace_get_indices(tailrace_reader *reader, const char *var, const char *dim, uint64_t count, const uint64_t *indices,
                         void *data, const int64_t *stride);
/* Collective. Gives every rank all elements of a variable, dense in C order: one rank of each node reads them. */
int tailrace_get_shared(tailrace_reader *reader, const char *var, void *data);
/* Local, for bindings. Returns `status` and makes `text` this thread's error message, as a failed call with this reader does. */
int tailrace_refuse_read(tailrace_reader *reader, int status, const char *text);
/* Local, for the Fortran module. From now on, messages of this reader write indices as Fortran does. */
int tailrace_use_fortran_order_read(tailrace_reader *reader);
/* Collective. Frees the reader and sets *reader to NULL, even if the call fails. */
int tailrace_close_read(tailrace_reader **reader);

/* ---- inquiring dimensions and variables ----------------------------------------------------------------------------------- */
/* The dimensions and variables of a stream, whether it is written or read. They are numbered from 0 in the order of definition;
 * the time dimension is not among them. All calls are local.
 *
 *   const tailrace_definitions *d;
 *   tailrace_get_definitions(s, &d);            // or tailrace_read_definitions(r, &d)
 *   tailrace_inquire_var_id(d, "T", &var);
 *   tailrace_inquire_var_info(d, var, &info);   // info.type == TAILRACE_F32, info.ndims == 2
 */
typedef struct tailrace_definitions tailrace_definitions;

/* A dimension. `name` stays valid until the next definition. */
typedef struct tailrace_dim_info {
    const char *name;
    uint64_t length; /* ragged: TAILRACE_RAGGED while it is written; the length in the selected step while it is read */
    int is_ragged;   /* another length in every step */
} tailrace_dim_info;

/* A variable. `name` stays valid until the next definition. */
typedef struct tailrace_var_info {
    const char *name;
    tailrace_type type;
    int flags; /* a sum of tailrace_var_flags */
    int ndims;
    int dims[TAILRACE_MAX_DIMS];       /* [ndims] the numbers of its dimensions, slowest first */
    uint64_t shape[TAILRACE_MAX_DIMS]; /* [ndims] their lengths, as in tailrace_dim_info */
} tailrace_var_info;

/* The definitions belong to the stream or reader, and stay valid until it is closed. */
int tailrace_get_definitions(tailrace_stream *stream, const tailrace_definitions **definitions);
int tailrace_read_definitions(tailrace_reader *reader, const tailrace_definitions **definitions);
/* tailrace_inquire_dims: how many dimensions there are. tailrace_inquire_dim_id: the number of the dimension with a name; NOT_FOUND
 * if there is none. tailrace_inquire_dim: the name and length of one dimension. */
int tailrace_inquire_dims(const tailrace_definitions *definitions, int *count);
int tailrace_inquire_dim_id(const tailrace_definitions *definitions, const char *name, int *dim);
int tailrace_inquire_dim(const tailrace_definitions *definitions, int dim, tailrace_dim_info *info);
/* How many variables there are; the number of the variable with a name, or NOT_FOUND; type, dimensions and shape of a variable. */
int tailrace_inquire_vars(const tailrace_definitions *definitions, int *count);
int tailrace_inquire_var_id(const tailrace_definitions *definitions, const char *name, int *var);
int tailrace_inquire_var_info(const tailrace_definitions *definitions, int var, tailrace_var_info *info);

/* ---- planning, inspecting, combining, converting: without a stream ---------------------------------------------------------- */
/* Frees a text that one of the functions below has returned. */
void tailrace_free(char *text);

/* Plans what a layout would write, without writing it. `request` is JSON:
 *   {"layout": TOML text, "ranks": n, "nodes": n, "steps": n, "name": stream name,
 *    "variables": [{"name", "type": "f4", "shape": [..], "grid": [..] blocks along each dimension, "attributes": {..}}, ...],
 *    "rank", and for the sizes of the files "coordinates": [{"name", "type", "length", "attributes"}, ...], "attributes": {..} of
 *    the stream and "time_attributes": optional. An attribute is text, a number, or a list of either}
 * The answer: {"layout": {...}, "files", "directories", "writers", "bytes" of the arrays and times, "messages", ...,
 *   "metadata_bytes": of all parts beside them: superblocks, object headers, attributes, coordinates, indexes of chunks, checksums,
 *   gaps between aligned arrays; "index_bytes", "index_files": NAME.nc and its subindexes, 0 where NAME.nc is a part;
 *   "journal_bytes" of one run; "stored": {"files", "bytes"}: all of these,
 *   "parts": [{"path", "writers", "bytes"}, ...],
 *   "notes": what the figures leave out, and what of them is estimated,
 *   "rank_plan": with "rank", each write of that rank: {"path", "address", "bytes", "variable"}}. */
int tailrace_plan(const char *request, char **json);
/* Lists as JSON the layout keys with their values, defaults and meaning, the presets, and which choices can be combined. */
int tailrace_keys(char **json);
/* Checks a layout, as TOML text with keys at top level, and adds the defaults: {"layout": each key's effective value, "given":
 * {key: {"value", "origin"}}}. Reads no file and no environment variable; tailrace_report has the layout in force of a stream. */
int tailrace_describe_layout(const char *options, char **json);
/* Lists as JSON what a stream of a directory holds, or all of its streams if `name` is NULL: layout, steps, times, files, bytes,
 * dimensions, variables. `staged` has the steps of stage = scratch that are written, and not at their target. Its notes are what
 * readers of such a stream should know. */
int tailrace_list(const char *directory, const char *name, char **json);
/* Checks a stream: all parts of every committed step exist, are whole and have the recorded size, and the index exists. With
 * `deep` != 0 every byte is compared with its checksum. While a run writes, what it has not finished is no problem.
 * JSON: {"ok": no problem, "state": "whole" (but for the index) | "being written" | "damaged", "steps", "files", "bytes",
 *   "problems": [{"path", "step", "problem", "remedy": "repair" | "index": the command that mends it, or "": none does}],
 *   "notes": what readers of such a stream should know}. */
int tailrace_verify(const char *directory, const char *name, int deep, char **json);
/* Repairs a damaged stream, so that it can be read and appended to. TAILRACE_IN_USE while another process writes it; with
 * `take_over` != 0 that process gets TAILRACE_OVERTAKEN at its next step instead. Cuts the journal's torn tail, removes what was
 * never committed, and drops the steps whose parts are missing or damaged. Their files are set aside: nothing that was committed
 * is deleted. Then writes the index anew. JSON: {"ok": bool, "steps" that are left,
 *   "actions": [{"action": "cut" | "removed" | "shown" | "dropped" | "set aside", "path", "steps": [...], "why"}],
 *   "problems": what it cannot mend, as in tailrace_verify: [{"path", "step", "problem"}]}. */
int tailrace_repair(const char *directory, const char *name, int take_over, char **json);
/* Drops the last steps of a stream, such as before a run that starts from an earlier restart. TAILRACE_IN_USE while another process
 * writes the stream, unless `take_over` != 0. `to` is JSON: {"before": time} drops the steps at or after this time; {"steps": n}
 * drops the last n steps. The journal records it, and files without other steps are removed. The next run uses the numbers of
 * the dropped steps again. JSON: {"stream", "steps" that are left, "dropped": [numbers of the dropped steps], "times": [of these],
 * "removed": [paths]}. */
int tailrace_rewind(const char *directory, const char *name, const char *to, int take_over, char **json);
/* Takes over the attributes that another program has changed in the file of a stream that is the dataset itself, such as ncatted or
 * netCDF4 in append mode. After that, runs append to it again. TAILRACE_UNSUPPORTED where more than attributes was changed; the
 * message says what, and how to continue. TAILRACE_IN_USE while another process writes the stream, unless `take_over` != 0. JSON:
 * {"stream", "steps", "path", "changed": [{"variable" ("" for the file), "attribute", "before", "now"}]}. */
int tailrace_adopt(const char *directory, const char *name, int take_over, char **json);
/* Writes the index of a stream anew from what is committed, as after a run that was killed. NAME.nc of a stream whose one part is
 * the dataset is left as it is. TAILRACE_IN_USE while another process writes the stream, unless `take_over` != 0. */
int tailrace_index(const char *directory, const char *name, int take_over);
/* A function that a long call calls from time to time; if it returns a value other than 0, the long call stops. */
typedef int (*tailrace_progress)(uint64_t done_bytes, uint64_t all_bytes, void *context);
/* Writes all committed steps of a stream as one plain NetCDF-4 file, by several threads: no parts, no index, time unlimited. The
 * file is named OUTPUT.combining until it is whole. A call for the same steps continues where one that was stopped or killed had
 * ended. `options` is JSON or NULL: {"threads": n (default: cores, at most 8), "replace": bool (an existing output), "sync": bool
 * (fsync at the end)}. `progress` may be NULL; TAILRACE_STOPPED if it returned a value other than 0. JSON: {"stream", "output",
 * "steps", "steps_before": done by an earlier call, "bytes" of the arrays, "file_bytes"}. */
int tailrace_combine(const char *directory, const char *name, const char *output, const char *options, tailrace_progress progress,
                     void *context, char **json);
/* Collective over `comm`. Writes all committed steps of a stream again, as the stream of the same name in directory `to`. The
 * layout is that of `options` (TOML) and the configuration. Each rank holds its slab of a step in memory. A call for a stream
 * that has some of the steps already appends the others. `progress` is called on rank 0, with steps in place of bytes. Errors
 * and TAILRACE_STOPPED as above.
 * JSON: {"stream", "steps", "steps_before": done by an earlier call, "rank": that of the caller}. */
int tailrace_convert(MPI_Comm comm, const char *from, const char *name, const char *to, const char *options,
                     tailrace_progress progress, void *context, char **json);
int tailrace_convert_fortran(MPI_Fint comm, const char *from, const char *name, const char *to, const char *options,
                             tailrace_progress progress, void *context, char **json);

/* ---- phases of a program ---------------------------------------------------------------------------------------------------- */

/* Local. Begins a named phase of the program in the log of a recorded run (`tailrace run`); tailrace_phase_end ends it. Phases may
 * be nested. If the run is not recorded, both calls do nothing. Always returns TAILRACE_OK. */
int tailrace_phase_begin(const char *name);
/* Local. Ends the phase that was begun last. */
int tailrace_phase_end(void);

/* ---- the journal: checksummed JSON lines, appended whole or not at all ------------------------------------------------------- */
/* Local. Appends one JSON object as a line with its checksum; with `sync` != 0 the line is on the device when the call returns. */
int tailrace_journal_append(const char *path, const char *json, int sync);
/* Local. Reads all intact lines as a JSON array, and how many bytes of a half-written last line follow them. */
int tailrace_journal_read(const char *path, char **json, uint64_t *torn_bytes);

#ifdef __cplusplus
}
#endif
#endif
