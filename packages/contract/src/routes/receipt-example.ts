import type { Receipt, ReceiptKeySet } from '../resources/receipt.js';
import { EXAMPLE } from './examples.js';

/** Public key for the receipt below. */
export const receiptKey: ReceiptKeySet['keys'][number] = {
  kty: 'OKP',
  crv: 'Ed25519',
  x: 'yBGRhQU2SJKKibJCJv8rB4kV9dItfS_d3KAK44zwdB4',
  kid: '6pipnANes2o74zvkkBmbIz3O1xWVfIUK9P3kVv4VdPM',
  alg: 'EdDSA',
  use: 'sig',
};

const USER_ID = '01931a5e-7c00-7000-8000-00000000000c';

/** Its signature is real. */
export const receipt: Receipt = {
  version: 1,
  id: EXAMPLE.receiptId,
  user_id: USER_ID,
  workspace_id: EXAMPLE.workspaceId,
  conversation_id: EXAMPLE.conversationId,
  agent_id: EXAMPLE.agentId,
  turn_id: EXAMPLE.turnId,
  call_id: 'call-1',
  tool: 'send_mail',
  effect: 'once',
  arguments: {
    to: ['bob@example.com'],
    subject: 'Lunch',
    body: 'Are you free on Tuesday?',
  },
  arguments_sha256: '2cfa2e70bc8341a98e673516dc7123e5e16051d09413410990d1f157049ef504',
  key: '<01931a5e-7c00-7000-8000-00000000000e@uswarm>',
  approval: {
    user_id: USER_ID,
    approved_at: '2026-11-20T08:30:00.000Z',
    title: 'Approve? Sending “Lunch” to bob@example.com',
    description: 'To: “bob@example.com”\nSubject: “Lunch”\nText: “Are you free on Tuesday?”',
  },
  sent_at: '2026-11-20T08:30:01.500Z',
  finished_at: '2026-11-20T08:30:04.250Z',
  status: 'succeeded',
  outcome: 'Sent the mail “Lunch” to bob@example.com.',
  jws: 'eyJhbGciOiJFZERTQSIsImtpZCI6IjZwaXBuQU5lczJvNzR6dmtrQm1iSXozTzF4V1ZmSVVLOVAza1Z2NFZkUE0iLCJ0eXAiOiJ1c3dhcm0tcmVjZWlwdCtqd3MifQ.eyJhZ2VudF9pZCI6IjAxOTMxYTVlLTdjMDAtNzAwMC04MDAwLTAwMDAwMDAwMDAwMiIsImFwcHJvdmFsIjp7ImFwcHJvdmVkX2F0IjoiMjAyNi0xMS0yMFQwODozMDowMC4wMDBaIiwiZGVzY3JpcHRpb24iOiJUbzog4oCcYm9iQGV4YW1wbGUuY29t4oCdXG5TdWJqZWN0OiDigJxMdW5jaOKAnVxuVGV4dDog4oCcQXJlIHlvdSBmcmVlIG9uIFR1ZXNkYXk_4oCdIiwidGl0bGUiOiJBcHByb3ZlPyBTZW5kaW5nIOKAnEx1bmNo4oCdIHRvIGJvYkBleGFtcGxlLmNvbSIsInVzZXJfaWQiOiIwMTkzMWE1ZS03YzAwLTcwMDAtODAwMC0wMDAwMDAwMDAwMGMifSwiYXJndW1lbnRzIjp7ImJvZHkiOiJBcmUgeW91IGZyZWUgb24gVHVlc2RheT8iLCJzdWJqZWN0IjoiTHVuY2giLCJ0byI6WyJib2JAZXhhbXBsZS5jb20iXX0sImFyZ3VtZW50c19zaGEyNTYiOiIyY2ZhMmU3MGJjODM0MWE5OGU2NzM1MTZkYzcxMjNlNWUxNjA1MWQwOTQxMzQxMDk5MGQxZjE1NzA0OWVmNTA0IiwiY2FsbF9pZCI6ImNhbGwtMSIsImNvbnZlcnNhdGlvbl9pZCI6IjAxOTMxYTVlLTdjMDAtNzAwMC04MDAwLTAwMDAwMDAwMDAwMyIsImVmZmVjdCI6Im9uY2UiLCJmaW5pc2hlZF9hdCI6IjIwMjYtMTEtMjBUMDg6MzA6MDQuMjUwWiIsImlkIjoiMDE5MzFhNWUtN2MwMC03MDAwLTgwMDAtMDAwMDAwMDAwMDBiIiwia2V5IjoiPDAxOTMxYTVlLTdjMDAtNzAwMC04MDAwLTAwMDAwMDAwMDAwZUB1c3dhcm0-Iiwib3V0Y29tZSI6IlNlbnQgdGhlIG1haWwg4oCcTHVuY2jigJ0gdG8gYm9iQGV4YW1wbGUuY29tLiIsInNlbnRfYXQiOiIyMDI2LTExLTIwVDA4OjMwOjAxLjUwMFoiLCJzdGF0dXMiOiJzdWNjZWVkZWQiLCJ0b29sIjoic2VuZF9tYWlsIiwidHVybl9pZCI6IjAxOTMxYTVlLTdjMDAtNzAwMC04MDAwLTAwMDAwMDAwMDAwZCIsInVzZXJfaWQiOiIwMTkzMWE1ZS03YzAwLTcwMDAtODAwMC0wMDAwMDAwMDAwMGMiLCJ2ZXJzaW9uIjoxLCJ3b3Jrc3BhY2VfaWQiOiIwMTkzMWE1ZS03YzAwLTcwMDAtODAwMC0wMDAwMDAwMDAwMDEifQ.hcWkdruIXhP-jLCFPdvc2CLd6fEWi3HzOBmccy1kQqa7M9RVXJYGINQt7U1Em_BhIVZ75sWUJGCAcM7X3bJmAg',
};
