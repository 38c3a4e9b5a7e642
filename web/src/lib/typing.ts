/** Whether a key goes into a field. Sliders and boxes take arrows and the like, but no letters. */
export function isTyping(event: KeyboardEvent): boolean {
  const { target, key } = event;
  if (target instanceof HTMLInputElement && ["range", "radio", "checkbox"].includes(target.type))
    return key.length > 1 || key === " ";
  return (
    target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement
  );
}
