"""CRC-32C (Castagnoli), as manifests and TFRecord have it."""


def crc32c(content):
    sum_so_far = 0xFFFFFFFF
    for byte in content:
        sum_so_far = CRC_TABLE[(sum_so_far ^ byte) & 0xFF] ^ (sum_so_far >> 8)
    return sum_so_far ^ 0xFFFFFFFF


def table_entry(value):
    for _ in range(8):
        value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    return value


CRC_TABLE = [table_entry(value) for value in range(256)]
