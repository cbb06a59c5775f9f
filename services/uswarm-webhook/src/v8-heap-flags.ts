import { setFlagsFromString } from 'node:v8';

// Imported first for its side effect. Requests are tens of kilobytes and live for a millisecond; without a limit, V8
// lets the new space grow as large as everything else in the process.
setFlagsFromString('--max-semi-space-size=4');
setFlagsFromString('--semi-space-growth-factor=1');
