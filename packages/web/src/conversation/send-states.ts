/** Of messages that the service has. */
export const STATES: Readonly<Record<string, string>> = { sent: 'Sent', delivered: 'Delivered', read: 'Read' };
/** By code, for messages that wait or were refused. */
export const REASONS: Readonly<Record<string, string>> = {
  network_error: 'Waits for the network',
  rate_limited: 'Waits: too many messages at the same time',
  turn_queue_full: 'Waits: too many questions are not answered yet',
  service_unavailable: 'Waits for the service',
  payload_too_large: 'It is too large.',
  validation_failed: 'It is too long.',
  upload_too_large: 'A file is too large.',
  upload_quota_exceeded: 'Your files have used all of their space.',
  upload_limit_reached: 'You have too many files.',
  attachment_invalid: 'A file was deleted.',
  mention_invalid: 'It mentions an agent that was deleted.',
  token_limit_reached: 'Your token limit of this month is reached.',
  agent_deleted: 'The agent was deleted.',
  conversation_not_found: 'The conversation was deleted.',
  user_banned: 'Your account is blocked.',
};
