import { parentPort, workerData } from 'node:worker_threads';
import { FileNotWritten } from './file-types.js';
import { type DocumentRequest, writeDocument } from './write-document.js';

/** Writes one file in a worker thread; see create-file-writer.ts. */
if (parentPort !== null) {
  try {
    const file = await writeDocument(workerData as DocumentRequest);
    parentPort.postMessage({ file }, []);
  } catch (error) {
    if (!(error instanceof FileNotWritten)) throw error;
    parentPort.postMessage({ problem: { reason: error.reason, message: error.message } }, []);
  }
}
