import { homedir } from 'node:os';
import { join } from 'node:path';

/** Contains built and downloaded programs, which all checkouts on this machine share. */
export const cacheFolder = (): string => join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'uswarm');
