import MailComposer from 'nodemailer/lib/mail-composer';

export interface OutgoingMail {
  /** With angle brackets. */
  messageId: string;
  to: readonly string[];
  cc: readonly string[];
  subject: string;
  text: string;
  /** The mail that it answers: the `Message-ID` and the `References` of that mail. */
  answers?: { messageId: string; references: string };
}

/** A mail in the format of RFC 5322. The provider adds the sender. */
export function composeMail({ messageId, to, cc, subject, text, answers }: OutgoingMail): Promise<Buffer> {
  const composer = new MailComposer({
    messageId,
    to: [...to],
    cc: [...cc],
    subject,
    text,
    ...(answers === undefined
      ? {}
      : { inReplyTo: answers.messageId, references: `${answers.references} ${answers.messageId}`.trim() }),
  });
  return composer.compile().build();
}
