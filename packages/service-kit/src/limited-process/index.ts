export { closeNetwork } from './close-network.js';
export { encodeFrame, type Frame, readFrames } from './frames.js';
export { type LimitedProcess, type LimitedProcessOptions, startLimitedProcess, writeFrame } from './limited-process.js';
