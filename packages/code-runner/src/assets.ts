import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/** A package's file. An image has it beside its programs, in `pyodide`. */
export function assetOf(packageFile: string): URL {
  const name = packageFile.slice(packageFile.lastIndexOf('/') + 1);
  const beside = new URL(`./pyodide/${name}`, import.meta.url);
  if (existsSync(beside)) return beside;
  return pathToFileURL(createRequire(import.meta.url).resolve(packageFile));
}
