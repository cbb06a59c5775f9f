import { join } from 'node:path';
import { type InstallOptions, installPythonProgram, type PythonInstallation } from './python-packages.js';

/** Hash-pinned requirements and the launcher; beside `src` and `dist` alike. */
export const searxngAssets = join(import.meta.dirname, '..', '..', 'searxng');

const SEARXNG = {
  title: 'SearXNG',
  name: 'searxng',
  size: '25 MB',
  requirements: ['requirements.txt', 'core.txt'].map((name) => join(searxngAssets, name)),
};

/** Installs the pinned SearXNG below a folder, unless it is there already. @throws LocalError */
export function installSearxng(options: InstallOptions): Promise<PythonInstallation> {
  return installPythonProgram(SEARXNG, options);
}
