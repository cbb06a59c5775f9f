import { parseJson, startDeadline } from '@uswarm/service-kit';
import { request } from 'undici';
import { callUrl } from './client.js';
import type { Credentials } from './credentials.js';
import { KubeError, type StatusAnswer } from './errors.js';
import { type ObjectName, resourcePath } from './resource.js';

export interface PodLogOptions {
  container: string;
  /** Reads the log from before the last restart. */
  previous: boolean;
  /** Number of lines, counted from the end. */
  tailLines: number;
  /** Timeout in milliseconds. */
  timeoutMs: number;
}

/** A hostile runtime may write lines without an end. */
const LIMIT_BYTES = 1024 * 1024;
const PODS = { group: '', version: 'v1', plural: 'pods', kind: 'Pod' };

/** Returns the last lines that a container logged. @throws KubeError for an error response, else a connection error */
export async function readPodLog(
  credentials: Credentials,
  { name, namespace }: ObjectName,
  { container, previous, tailLines, timeoutMs }: PodLogOptions,
): Promise<string> {
  const deadline = startDeadline(timeoutMs);
  try {
    const path = resourcePath(PODS, namespace, name, 'log');
    const query = { container, previous: `${previous}`, tailLines: `${tailLines}`, limitBytes: `${LIMIT_BYTES}` };
    const { statusCode, body } = await request(callUrl(credentials.server, { path, query }), {
      dispatcher: credentials.dispatcher,
      headers: { accept: 'text/plain, application/json', ...(await credentials.headers()) },
      signal: deadline.signal,
    });
    const text = await body.text();
    if (statusCode === 200) return text;
    throw new KubeError(statusCode, (parseJson(text) ?? {}) as StatusAnswer);
  } finally {
    deadline.end();
  }
}
