import { setFlagsFromString } from 'node:v8';

// Imported for its effect, before anything else is loaded. Requests are tens of kilobytes that live for a
// millisecond: V8 would let its nursery grow by as much as the rest of the process takes.
setFlagsFromString('--max-semi-space-size=4');
setFlagsFromString('--semi-space-growth-factor=1');
