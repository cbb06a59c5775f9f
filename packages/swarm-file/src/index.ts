export { boundedJson } from './bounded-json.js';
export { jsonLines } from './lines.js';
export {
  artifactPath,
  filePath,
  KEYS_PATH,
  type Manifest,
  type Table,
  tablePath,
  TABLES,
  WORKSPACE_PATH,
} from './manifest.js';
export { openRemoteSwarmFile, openSwarmFile, type SwarmFile } from './open-swarm-file.js';
export { SwarmFileError, type SwarmFileProblem } from './problem.js';
export type { Source } from './source-reader.js';
export { type Content, sealed } from './seal.js';
export { verifiedReceipt, type VerifiedReceipt } from './verified-receipt.js';
