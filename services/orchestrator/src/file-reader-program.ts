/** Reads one attached file in a process with limits. A program of its own, so that images have it beside `main`. */
import '@uswarm/file-reader/program';
