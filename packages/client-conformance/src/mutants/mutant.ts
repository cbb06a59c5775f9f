import type { Transport } from '../server/seen.js';

/** A fault that is planted into `@uswarm/client`, and scenarios that a client with it fails. */
export interface Mutant {
  name: string;
  /** Replacements in the client sources; each text occurs once. */
  edits: [from: string, to: string][];
  fails: string[];
  /** Default: the socket. */
  transport?: Transport;
}
