"""What a process does around its work: programs it starts, files it makes aside, warnings it silences."""
