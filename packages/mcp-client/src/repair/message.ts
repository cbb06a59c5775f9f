import { repairCallResult } from './call-result.js';
import { fieldsOfType, isObject, type Json, withoutNulls, withoutNullsIn } from './json.js';
import { type Listing, repairToolList } from './tools.js';

const INTERNAL_ERROR = -32_603;

/** Tool servers have tools, although some do not announce them. */
function repairCapabilities(capabilities: unknown): Json {
  const { tools, extensions } = isObject(capabilities) ? capabilities : {};
  const known = isObject(tools) ? fieldsOfType(tools, 'boolean', ['listChanged']) : {};
  const objects = isObject(extensions) ? Object.entries(extensions).filter(([, value]) => isObject(value)) : [];
  return { tools: known, ...(objects.length === 0 ? {} : { extensions: Object.fromEntries(objects) }) };
}

function repairServer(server: unknown): Json {
  const { name, version } = isObject(server) ? server : {};
  return {
    name: typeof name === 'string' ? name : 'unknown',
    version: typeof version === 'string' ? version : 'unknown',
  };
}

/** Of `initialize`, and of `server/discover` since version 2026-07-28. */
function repairServerDescription(result: Json): Json {
  const { capabilities, serverInfo, instructions, ...others } = result;
  return {
    ...others,
    capabilities: repairCapabilities(capabilities),
    ...('protocolVersion' in result || serverInfo !== undefined ? { serverInfo: repairServer(serverInfo) } : {}),
    ...(typeof instructions === 'string' ? { instructions } : {}),
  };
}

/** Results are known by their fields, because the response to a resumed stream does not name the request. */
function repairResult(result: Json, listing: Listing): Json {
  const { _meta: meta, resultType, ...fields } = withoutNulls(result);
  const others = isObject(meta) ? { ...fields, _meta: meta } : fields;
  const kept = resultType === undefined ? others : { ...others, resultType };
  const described = 'protocolVersion' in fields || 'supportedVersions' in fields;
  if (described) return repairServerDescription(kept);
  if ('inputRequests' in kept) return { ...kept, inputRequests: withoutNullsIn(kept['inputRequests']) };
  // Earlier versions have no type of results.
  if ('tools' in result) return { resultType: 'complete', ...repairToolList(kept, listing) };
  if (['content', 'structuredContent', 'isError'].some((name) => name in result))
    return { resultType: 'complete', ...repairCallResult(kept) };
  return kept;
}

function repairError({ code, message, data }: Json): Json {
  return {
    code: Number.isInteger(code) ? code : INTERNAL_ERROR,
    message: typeof message === 'string' ? message : 'without a message',
    ...(data === undefined ? {} : { data }),
  };
}

/**
 * Repairs a response, or a question to the user, from a server that sends null or another type where the protocol has an optional field. Otherwise
 * the SDK would reject the whole response because of one entry. Other messages stay as they are. Pure, except that
 * `listing` collects the unusable tools.
 */
export function repairMessage(message: unknown, listing: Listing): unknown {
  if (Array.isArray(message)) return message.map((one) => repairMessage(one, listing));
  if (!isObject(message)) return message;
  if (message['method'] === 'elicitation/create') return { ...message, params: withoutNullsIn(message['params']) };
  if ('method' in message) return message;
  const { id, result, error } = message;
  const base = { jsonrpc: '2.0', ...(id === null || id === undefined ? {} : { id }) };
  if (isObject(result) && (error === null || error === undefined))
    return { ...base, result: repairResult(result, listing) };
  if (isObject(error) && (result === null || result === undefined)) return { ...base, error: repairError(error) };
  return message;
}
