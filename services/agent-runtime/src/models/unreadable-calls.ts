import type { Logger } from '@uswarm/service-kit';
import type { ModelPort } from './port.js';

/** Logged characters of a call: they show the form, and little content. */
const MAX_SHOWN = 60;

/**
 * Warns once per model that writes calls as text which cannot be read: its server needs the model's tool parser. Calls
 * in a known form run without one.
 */
export function warnOfUnreadableCalls(port: ModelPort, logger: Pick<Logger, 'warn'>): ModelPort {
  const warned = new Set<string>();
  return {
    ...port,
    async *step(request, options) {
      for await (const event of port.step(request, options)) {
        const unreadable = event.type === 'end' ? event.step.unreadable : undefined;
        if (unreadable !== undefined && !warned.has(request.model)) {
          warned.add(request.model);
          const begins_with = unreadable.slice(0, MAX_SHOWN).toWellFormed();
          const fields = { provider: port.provider, model: request.model, begins_with };
          logger.warn(
            fields,
            'the model writes tool calls as text that cannot be read: set the tool parser of its server',
          );
        }
        yield event;
      }
    },
  };
}
