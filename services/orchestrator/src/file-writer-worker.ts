// The thread of @uswarm/file-writer, which looks for it beside the code that starts it: in an image, the bundle.
// oxlint-disable-next-line import/no-unassigned-import
import '@uswarm/file-writer/worker';
