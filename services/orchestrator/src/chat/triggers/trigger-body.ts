import type { IncomingHttpHeaders } from 'node:http';
import { BINARY_CONTROLS, storable } from '@uswarm/service-kit';
import { headerOf } from '../../platform/http/webhook-signature.js';
import type { RunBody } from '../../records/schedule-rows.js';

/** Headers in which systems name what happened: of GitHub, GitLab, Bitbucket, Sentry, Shopify, and CloudEvents. */
const EVENT_HEADER =
  /^(?:x-(?:[\w-]+-)?(?:event|event-key|topic)|sentry-hook-resource|ce-(?:id|source|subject|time|type))$/;
const HEADER_CHARACTERS = 200;
const FORM = /^application\/x-www-form-urlencoded\b/i;
const TEXTUAL = /^(?:text\/|application\/(?:[\w.+-]*(?:json|xml)|x-www-form-urlencoded)\b)/i;

/** Undefined if the bytes are not text. */
function textOf(bytes: Buffer, contentType: string): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (!BINARY_CONTROLS.test(text)) return text;
  } catch {
    // It is not UTF-8.
  }
  return TEXTUAL.test(contentType) ? storable(bytes.toString('utf8')) : undefined;
}

/** Encoded text costs a model several times the tokens. GitHub sends JSON in one field. */
function decodedForm(text: string): string {
  const fields = [...new URLSearchParams(text)];
  const [only] = fields;
  if (fields.length === 1 && only?.[0] === 'payload') return only[1];
  return fields.map(([name, value]) => `${name}=${value}`).join('\n');
}

function eventHeaders(headers: IncomingHttpHeaders): string[] {
  const names = Object.keys(headers).filter((name) => EVENT_HEADER.test(name));
  return names.map((name) => `${name}: ${storable(headerOf(headers, name) ?? '').slice(0, HEADER_CHARACTERS)}`);
}

/** The file that the agent gets; undefined for an empty request. Pure. */
export function bodyOf(headers: IncomingHttpHeaders, bytes: Buffer): RunBody | undefined {
  const contentType = headerOf(headers, 'content-type') ?? '';
  const text = textOf(bytes, contentType);
  if (text === undefined) return { name: 'event.bin', bytes };
  const body = FORM.test(contentType) ? storable(decodedForm(text)) : text;
  const events = eventHeaders(headers);
  if (events.length > 0) return { name: 'event.txt', bytes: Buffer.from([...events, '', body].join('\n').trimEnd()) };
  if (body.trim() === '') return undefined;
  return { name: /^\s*[[{]/.test(body) ? 'event.json' : 'event.txt', bytes: Buffer.from(body) };
}
