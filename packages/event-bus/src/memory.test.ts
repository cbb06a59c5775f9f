import { describe } from '@jest/globals';
import { describeBus } from './testing/bus-contract.js';
import { createMemoryBus } from './memory.js';

describe('the memory bus', () => {
  describeBus((options) => {
    const bus = createMemoryBus(options);
    return { publisher: bus, subscriber: bus };
  });
});
