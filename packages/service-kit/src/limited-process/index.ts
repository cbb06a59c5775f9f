export { encodeFrame, type Frame, readFrames } from './frames.js';
export { isolateProcess } from './isolate-process.js';
export { type LimitedProcess, type LimitedProcessOptions, startLimitedProcess, writeFrame } from './limited-process.js';
