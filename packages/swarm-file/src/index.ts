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
export { openSwarmFile, type SwarmFile } from './open-swarm-file.js';
export { SwarmFileError, type SwarmFileProblem } from './problem.js';
export { type Content, sealed } from './seal.js';
