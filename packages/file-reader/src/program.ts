/** Reads one file after another; started by `createFileReader` and bundled as a program of its own. */
export {};
