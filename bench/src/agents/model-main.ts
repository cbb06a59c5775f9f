import { type ModelStep, startModelServer } from '@uswarm/dev-servers';
import { CHUNK, CHUNKS, PACED_MODEL, PACE_MS } from './answers.js';

// Model server for the turn benchmark. One model streams without pauses, one at a fast provider's pace.
const chunks = Array.from({ length: CHUNKS }, (): ModelStep => ({ text: CHUNK }));
const paced = chunks.flatMap((chunk): ModelStep[] => [chunk, { delayMs: PACE_MS }]);

const server = await startModelServer({ script: ({ model }) => (model === PACED_MODEL ? paced : chunks) });
process.send?.({ url: server.baseUrl });
process.once('disconnect', () => process.exit(0));
process.once('SIGTERM', () => process.exit(0));
