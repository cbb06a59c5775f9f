/** The thread of @uswarm/file-writer, which looks for it beside the code that starts it: in an image, the bundle. */
await import('@uswarm/file-writer/program');

export {};
