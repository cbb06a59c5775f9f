/** Reads one PDF file in a process with limits. A separate program, so that images have it beside `main`. */
// oxlint-disable-next-line import/no-unassigned-import
import '@uswarm/file-reader/program';
